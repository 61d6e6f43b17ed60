// Previews without the autoencoder's decoder: the color of each latent pixel as a linear function of its values, or the output of
// a small decoder.
#pragma once

#include "media/pixels.h"
#include "models/diffusion/latent_model.h"
#include "parts/autoencoder_tiny/autoencoder_tiny.h"

namespace hearth::models::diffusion {

// red, green and blue in −1 … 1 = bias + matrix · z
struct LatentColors {
  std::vector<double> matrix;  // [C + 1, 3]: a row per value of z, then the bias
};

// Fits the function by least squares, from the latents that this autoencoder encodes of an image, 24 × 24 of them, to the means of the
// pixels that each of them covers. The image consists of patches of all colors with finer ones on them.
LatentColors fit_colors(const HostedCodec& codec, Backend& host);

// x0 [1, h, w, C] → an image of `factor` times its size, interpolated bilinearly.
Pixels preview_of(const Tensor& x0, const LatentColors& colors, int64_t factor);

// The decoder of an AutoencoderTiny alone. x0 [1, h, w, C] → image [f·h, f·w, 3], about −1 … 1, not clamped.
struct PreviewDecoder {
  PreviewDecoder(const Scope& w, const parts::AutoencoderTinyConfig& config);
  Tensor operator()(const Tensor& x0) const;

  parts::AutoencoderTinyConfig config;
  parts::TinyDecoder decoder;
};

// Its index among a model's networks, after those of the model itself.
inline Slot<PreviewDecoder> preview_slot(const LatentModel& model) { return {model.components().size()}; }

// WeightError unless the decoder's latents and images match those of `codec`. `where`: names its configuration in messages.
void check_preview(const parts::AutoencoderTinyConfig& decoder, const CodecConfig& codec, const std::string& where);

}  // namespace hearth::models::diffusion
