// Progress of long operations.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace hearth {

struct Progress {
  // "load" (bytes), "encode" (prompts), "sample" (steps), "decode" (images); "prompt", "score" (tokens); "quantize" (parameters);
  // "download" (bytes); bench: "write", "measure"
  std::string_view phase;
  int64_t done = 0, total = 0;
};

using OnProgress = std::function<void(const Progress&)>;  // called on the calling thread; may throw Canceled

}  // namespace hearth
