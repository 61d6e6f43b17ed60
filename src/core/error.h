// What can go wrong, as exceptions that end the operation. Messages follow one form,
//   `op: what is wrong, with which value and shape, and what was needed`
// and reach the user as one line.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace hearth {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// clang-format off
struct ShapeError : Error { using Error::Error; };        // tensors that do not fit each other
struct WeightError : Error { using Error::Error; };       // a checkpoint that is not what the model needs
struct UnsupportedError : Error { using Error::Error; };  // known, and not built
struct IoError : Error { using Error::Error; };           // files: missing, truncated, unwritable
struct UsageError : Error { using Error::Error; };        // a request that makes no sense: unknown name, value out of range
struct NonFiniteError : Error { using Error::Error; };    // NaN or infinity where a number was needed
// clang-format on
struct Cancelled : Error {  // the user asked to stop
  Cancelled() : Error("cancelled") {}
};

// throw E(formatted message).
template <class E, class... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw E(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace hearth
