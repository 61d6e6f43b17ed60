// What a running picture looks like, without the decoder: each latent pixel's colour as a linear function of its values.
#pragma once

#include "media/pixels.h"
#include "parts/autoencoder_kl/autoencoder_kl.h"

namespace hearth::models::stable_diffusion {

// red, green and blue in −1 … 1 = bias + matrix · z
struct LatentColours {
  std::vector<double> matrix;  // [C + 1, 3]: a row per value of z, then the bias
};

// By least squares between the latents that this autoencoder makes of a picture, 24 × 24 of them, and the means of the pixels that each
// stands for. The picture is patches of all colours with finer ones on them.
LatentColours fit_colours(const parts::AutoencoderKl& vae, Backend& device);

// x0 [1, h, w, C] → a picture of `factor` times its size, bilinear in between.
Pixels preview_of(const Tensor& x0, const LatentColours& colours, int64_t factor);

}  // namespace hearth::models::stable_diffusion
