// How far a long operation has come.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace hearth {

struct Progress {
  std::string_view
      phase;  // "load" (bytes), "encode" (prompts), "sample" (steps), "decode" (images); "quantize" (parameters); bench: "write", "measure"
  int64_t done = 0, total = 0;
};

using OnProgress = std::function<void(const Progress&)>;  // called on the thread that called us; may throw Cancelled

}  // namespace hearth
