// fail<E>(…): end the operation with one of the exceptions of hearth/error.h. Messages follow one form,
//   `op: what is wrong, with which value and shape, and what was needed`
// and reach the user as one line.
#pragma once

#include <fmt/core.h>

#include <utility>

#include "hearth/error.h"

namespace hearth {

// throw E(formatted message).
template <class E, class... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw E(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace hearth
