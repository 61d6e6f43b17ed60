// fail<E>(…): end the operation with one of the exceptions of hearth/error.h. Messages follow one form,
//   `op: what is wrong, with which value and shape, and what was needed`
// and reach the user as one line.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include "hearth/error.h"

namespace hearth {

// The text with control characters written as \n, \t or \x1b: names come from files, and must neither break the line nor steer a
// terminal.
std::string one_line(std::string text);

// throw E(formatted message), as one line.
template <class E, class... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw E(one_line(fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace hearth
