#include "sampling/noise/noise.h"

#include "sampling/noise/noise_sources.h"

namespace hearth::sampling {

Noise torch_cpu_noise(uint64_t seed, Generators generators) { return Noise(torch_draws(seed, generators), octave_increments(seed)); }

Noise noise_from(const Tensor& first, Noise rest) {
  return Noise(first_then(given_draw(first), std::move(rest.draws_)), std::move(rest.increments_));
}

}  // namespace hearth::sampling
