// The exceptions that hearth throws. Every message is one line: `what: what is wrong, expected what is right`.
#pragma once

#include <stdexcept>

namespace hearth {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct ShapeError : Error {
  using Error::Error;
};  // tensors whose shapes do not match
struct WeightError : Error {
  using Error::Error;
};  // tensors of a checkpoint are missing, misshapen or invalid
struct UnsupportedError : Error {
  using Error::Error;
};  // a valid input or request that hearth does not support
struct IoError : Error {
  using Error::Error;
};  // a file is missing, truncated or cannot be written
struct UsageError : Error {
  using Error::Error;
};  // an invalid request: unknown name, value out of range
struct NonFiniteError : Error {
  using Error::Error;
};                         // NaN or infinity instead of a finite value
struct Canceled : Error {  // the user canceled the operation
  Canceled() : Error("canceled") {}
};

}  // namespace hearth
