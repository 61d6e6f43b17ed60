#include "models/diffusion/finite.h"

#include "core/error.h"
#include "core/on_host.h"

namespace hearth::models::diffusion {

void require_finite(const Tensor& x, std::string_view component, std::string_view what) {
  unless_dry(x.backend(), [&] {
    if (const int64_t bad = count_non_finite(dense_on_host(x)))
      fail<NonFiniteError>("{}: {} of {} values of {} are NaN or infinite, so no image is generated (debug \"nan\" finds the first op)",
                           component, bad, x.numel(), what);
  });
}

}  // namespace hearth::models::diffusion
