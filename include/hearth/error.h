// What hearth throws. Every message is one line: `what: what is wrong, with which value, and what was needed`.
#pragma once

#include <stdexcept>

namespace hearth {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct ShapeError : Error {
  using Error::Error;
};  // tensors that do not fit each other
struct WeightError : Error {
  using Error::Error;
};  // a checkpoint that is not what the model needs
struct UnsupportedError : Error {
  using Error::Error;
};  // known, and not built
struct IoError : Error {
  using Error::Error;
};  // files: missing, truncated, unwritable
struct UsageError : Error {
  using Error::Error;
};  // a request that makes no sense: unknown name, value out of range
struct NonFiniteError : Error {
  using Error::Error;
};                         // NaN or infinity where a number was needed
struct Canceled : Error {  // the user asked to stop
  Canceled() : Error("canceled") {}
};

}  // namespace hearth
