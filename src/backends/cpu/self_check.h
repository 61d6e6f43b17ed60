// Known answers: a kernel written for a processor that nobody had at hand cannot be trusted unseen.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/kernels/kernels.h"

namespace hearth::cpu {

// Runs every kernel family on a few small inputs and compares with plain loops, in some milliseconds. Returns what is wrong
// ("product tile: 3.25 where 3.5 is right"), or "".
std::string check_kernels(const Kernels& kernels);

// One kernel path that this program has.
struct Path {
  std::string name;
  bool available;               // does the processor have it?
  const Kernels& (*kernels)();  // not called before the processor is known to have it
};

// The path to use, best first in `paths`: the one named by `wanted`, or the best available for "". A path whose check fails is
// passed over with one line to `warn`. UsageError for an unknown name, UnsupportedError when nothing is left.
const Kernels& choose_path(std::span<const Path> paths, const std::string& wanted, const std::function<void(const std::string&)>& warn);

}  // namespace hearth::cpu
