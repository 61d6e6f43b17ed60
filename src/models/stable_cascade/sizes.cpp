#include "models/stable_cascade/sizes.h"

#include <algorithm>
#include <cmath>

namespace hearth::models::stable_cascade {
namespace {

int64_t side_of(int64_t latents) { return 4 * int64_t(double(latents) * 10.67); }

// The number of latents of a side, given in pixels. From 4268 on sides of the table are larger than the reference's ratio says.
int64_t latents_of(int64_t pixels) {
  int64_t k = std::max<int64_t>(1, int64_t(std::ceil(double(pixels) / 42.67)));
  if (k > 1 && side_of(k - 1) >= pixels) --k;
  while (side_of(k) % 8 != 0) ++k;
  return k;
}

}  // namespace

std::array<int64_t, 2> size_of_run(int64_t height, int64_t width) { return {side_of(latents_of(height)), side_of(latents_of(width))}; }

std::array<int64_t, 2> prior_latents(int64_t height, int64_t width) { return {latents_of(height), latents_of(width)}; }

}  // namespace hearth::models::stable_cascade
