// What a running picture looks like, without the autoencoder's decoder: each latent pixel's colour as a linear function of its values, or
// what a small decoder makes of them.
#pragma once

#include "media/pixels.h"
#include "models/stable_diffusion/vae.h"

namespace hearth::models::stable_diffusion {

// red, green and blue in −1 … 1 = bias + matrix · z
struct LatentColours {
  std::vector<double> matrix;  // [C + 1, 3]: a row per value of z, then the bias
};

// By least squares between the latents that this autoencoder makes of a picture, 24 × 24 of them, and the means of the pixels that each
// stands for. The picture is patches of all colours with finer ones on them.
LatentColours fit_colours(const Vae& vae, Backend& device);

// x0 [1, h, w, C] → a picture of `factor` times its size, bilinear in between.
Pixels preview_of(const Tensor& x0, const LatentColours& colours, int64_t factor);

// The decoder of an AutoencoderTiny alone. x0 [1, h, w, C] → picture [f·h, f·w, 3], about −1 … 1, not limited.
struct PreviewDecoder {
  PreviewDecoder(const Scope& w, const parts::AutoencoderTinyConfig& config);
  Tensor operator()(const Tensor& x0) const;

  parts::TinyDecoder decoder;
  float scaling_factor;
};

// WeightError unless the decoder's latents and pictures are those of `vae`. `where`: of its configuration, for messages.
void check_preview(const parts::AutoencoderTinyConfig& decoder, const VaeConfig& vae, const std::string& where);

}  // namespace hearth::models::stable_diffusion
