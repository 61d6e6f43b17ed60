// The message of the ShapeError with which an op refuses its arguments.
#pragma once

#include <string>

#include "core/error.h"

namespace hearth::test {

template <class F> std::string refusal(F call) {
  try {
    call();
  } catch (const ShapeError& e) { return e.what(); }
  return "accepted";
}

}  // namespace hearth::test
