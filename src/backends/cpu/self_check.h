// Known-answer tests at run time, because a kernel path may run on a CPU on which it was never tested.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/kernels/kernels.h"

namespace hearth::cpu {

// Runs every kernel family on a few small inputs and compares the results with plain loops, in some milliseconds. Returns what is wrong
// ("product tile: 3.25, expected 3.5"), or "".
std::string check_kernels(const Kernels& kernels);

// A kernel path of this program.
struct Path {
  std::string name;
  bool available;               // whether the CPU supports it
  const Kernels& (*kernels)();  // called only if available
};

// The path to use out of `paths`, best first: the one named by `requested`, or the best available for "". A path whose check fails is
// skipped with one line to `warn`. UsageError for an unknown name, UnsupportedError if no path is left.
const Kernels& choose_path(std::span<const Path> paths, const std::string& requested, const std::function<void(const std::string&)>& warn);

}  // namespace hearth::cpu
