// Noise of a run, as an explicit value: a source of random numbers and the count of draws made.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>

#include "core/backend.h"

namespace hearth::sampling {

// Draw number `position` (0 is the run's initial noise), standard normal, shape [B, H, W, C], f32. The result depends on the arguments
// alone, except that a source may require all draws of a run to have one shape. (Sources are in noise_sources.h.)
using NoiseDraws = std::function<Tensor(Backend& device, const Shape& shape, int64_t position)>;
// (W(to) − W(from))/√|to − from| of a Brownian path W over noise levels σ/α (flow: σ): standard normal, [B, H, W, C], f32.
using NoiseIncrements = std::function<Tensor(Backend& device, const Shape& shape, double from, double to)>;

class Noise {
 public:
  Noise() = default;
  // Without increments there is no Brownian path: between() draws instead.
  explicit Noise(NoiseDraws draws, NoiseIncrements increments = {}) : draws_(std::move(draws)), increments_(std::move(increments)) {}
  // Any function that returns the next tensor.
  template <std::invocable<Backend&, const Shape&> F>
  requires(!std::same_as<std::remove_cvref_t<F>, Noise>) Noise(F next)
      : draws_([next = std::move(next), made = int64_t(0)](Backend& device, const Shape& shape, int64_t position) mutable {
          for (; made < position; ++made) next(device, shape);
          ++made;
          return next(device, shape);
        }) {}

  // The next draw.
  Tensor operator()(Backend& device, const Shape& shape) { return draws_(device, shape, position_++); }
  // For SDE samplers: noise of the interval between two levels, so that fewer or more steps follow the same path. Without a path, the next
  // draw.
  Tensor between(Backend& device, const Shape& shape, double from, double to) {
    return increments_ ? increments_(device, shape, from, to) : (*this)(device, shape);
  }

  // Number of draws made so far; a resumed run continues from there.
  int64_t position() const { return position_; }
  void seek(int64_t position) { position_ = position; }

 private:
  friend Noise noise_from(const Tensor& first, Noise rest);

  NoiseDraws draws_;
  NoiseIncrements increments_;
  int64_t position_ = 0;
};

// What the images of a batch share.
//   per_image  image k has a generator of its own, seeded seed + k: a batch of n equals n single runs bit for bit
//   one        one generator draws the whole batch at once, as diffusers does with one torch.Generator
enum class Generators { per_image, one };

// PyTorch's CPU generator (torch_generator.h) for draws, hearth's own path per image (OctavePath) for increments.
Noise torch_cpu_noise(uint64_t seed, Generators generators = Generators::per_image);

// `first` [B, C, H, W] f32, then the draws of `rest`, on the path of `rest`. ShapeError if a requested shape differs from `first`.
Noise noise_from(const Tensor& first, Noise rest);

}  // namespace hearth::sampling
