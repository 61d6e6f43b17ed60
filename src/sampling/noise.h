// Sources of noise: named, seeded, explicit. Each call draws the next tensor of standard normal values.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>

#include "core/backend.h"

namespace hearth::sampling {

// Standard normal values of shape [B, H, W, C], f32, drawn in the order of [B, C, H, W], as PyTorch's programs do, and returned channels
// last. Draws are numbered, so that a run can be resumed; a source may have one path for all runs beside them.
class Noise {
 public:
  using Draw = std::function<Tensor(Backend& device, const Shape& shape)>;
  using Between = std::function<Tensor(Backend& device, const Shape& shape, double sigma, double sigma_next)>;

  Noise() = default;
  Noise(Draw draw, Between between) : draw_(std::move(draw)), between_(std::move(between)) {}
  template <std::invocable<Backend&, const Shape&> F>
  requires(!std::same_as<std::remove_cvref_t<F>, Noise>) Noise(F draw) : draw_(std::move(draw)) {}

  // The next draw.
  Tensor operator()(Backend& device, const Shape& shape) {
    ++position_;
    return draw_(device, shape);
  }
  // What a Brownian path does between two σ, of unit variance; without a path the next draw.
  Tensor between(Backend& device, const Shape& shape, double sigma, double sigma_next) {
    return between_ ? between_(device, shape, sigma, sigma_next) : (*this)(device, shape);
  }

  int64_t position() const { return position_; }  // draws so far
  // Draws and forgets until `position` draws are done.
  void skip_to(Backend& device, const Shape& shape, int64_t position) {
    while (position_ < position) (*this)(device, shape);
  }

 private:
  Draw draw_;
  Between between_;
  int64_t position_ = 0;
};

// What the images of a batch share.
//   per_image  image k has a generator of its own, seeded seed + k: a batch of n equals n single runs bit for bit
//   one        one generator draws the whole batch at once, as diffusers does with one torch.Generator
enum class Generators { per_image, one };

// PyTorch's CPU generator (torch_generator.h).
Noise torch_cpu_noise(uint64_t seed, Generators generators = Generators::per_image);

// `first` [B, C, H, W] f32, then what `rest` draws. ShapeError when another shape is asked for than that of `first`.
Noise noise_from(const Tensor& first, Noise rest);

}  // namespace hearth::sampling
