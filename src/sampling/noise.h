// Sources of noise: named, seeded, explicit. Each call draws the next tensor of standard normal values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/backend.h"

namespace hearth::sampling {

// The next draw of shape [B, H, W, C], f32. Values are drawn in the order of [B, C, H, W], as PyTorch's programs do, and returned
// channels last.
using Noise = std::function<Tensor(Backend& device, const Shape& shape)>;

// What the images of a batch share.
//   per_image  image k has a generator of its own, seeded seed + k: a batch of n equals n single runs bit for bit
//   one        one generator draws the whole batch at once, as diffusers does with one torch.Generator
enum class Generators { per_image, one };

// PyTorch's CPU generator (torch_generator.h).
Noise torch_cpu_noise(uint64_t seed, Generators generators = Generators::per_image);

// `first` [B, C, H, W] f32, then what `rest` draws. ShapeError when another shape is asked for than that of `first`.
Noise noise_from(const Tensor& first, Noise rest);

}  // namespace hearth::sampling
