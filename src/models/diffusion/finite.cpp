#include "models/diffusion/finite.h"

#include <cmath>

#include "core/error.h"
#include "core/on_host.h"

namespace hearth::models::diffusion {

double require_finite(const Tensor& x, std::string_view component, std::string_view what) {
  double largest = 0;
  unless_dry(x.backend(), [&] {
    const Tensor values = dense_on_host(x);
    if (const int64_t bad = count_non_finite(values))
      fail<NonFiniteError>("{}: {} of {} values of {} are NaN or infinite, so no image is generated (debug \"nan\" finds the first op)",
                           component, bad, x.numel(), what);
    for (const float v : std::span(values.data<float>(), size_t(x.numel()))) largest = std::max(largest, double(std::abs(v)));
  });
  return largest;
}

double require_finite(const EncodedPrompt& prompt, std::string_view component) {
  double largest = 0;
  for (const EncodedCondition& condition : prompt.conditions)
    for (const EncodedEntry& entry : condition.entries)
      for (const auto& [name, x] : entry.given.tensors) largest = std::max(largest, require_finite(x, component, "its " + name));
  return largest;
}

}  // namespace hearth::models::diffusion
