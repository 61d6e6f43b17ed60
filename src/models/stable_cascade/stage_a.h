// Stage A of Stable Cascade: the decoder of a VQGAN (Rampas et al. 2022, arXiv 2211.07292), after PaellaVQModel of diffusers 0.39.0. Its
// latents are not quantized, and its encoder is not used.
#pragma once

#include <variant>
#include <vector>

#include "core/files/config.h"
#include "models/diffusion/codec.h"
#include "nn/convolutions.h"

namespace hearth::models::stable_cascade {

struct StageAConfig {
  int64_t latent_channels = 4, out_channels = 3;
  int64_t pixels = 2;            // up_down_scale_factor: pixels of the image per position of the last level, each way
  int64_t levels = 2;            // each is twice as large as the one before
  int64_t blocks = 12;           // bottleneck_blocks: of the coarsest level; the others have one
  int64_t width = 384;           // embed_dim: of the coarsest level; halved from level to level
  double scale_factor = 0.3764;  // of latents

  int64_t factor() const { return pixels << (levels - 1); }
  diffusion::CodecConfig codec() const;

  // Reads every key. UnsupportedError names one whose value would change the result and is not supported.
  static StageAConfig from(const Config& config);

  bool operator==(const StageAConfig&) const = default;
};

// x + g₂·depthwise(norm(x)·(1 + g₀) + g₁), and the same with an MLP and g₃ … g₅.   x [B, H, W, C] → the same shape
struct MixingBlock {
  MixingBlock(const Scope& w, int64_t channels);
  Tensor operator()(const Tensor& x) const;

  nn::DepthwiseConv2d depthwise;  // depthwise.1
  nn::Linear in, out;             // channelwise.0, channelwise.2
  std::vector<float> gammas;      // [6]
  std::string path;
};

class StageA final : public diffusion::Codec {
 public:
  StageA(const Scope& w, const StageAConfig& config);

  // UnsupportedError: there is no encoder.
  parts::Posterior encode(const Tensor& image) const override;
  parts::Posterior encode_in_tiles(const Tensor& image, int64_t tile) const override;
  Tensor to_model(const parts::RawLatents& latents) const override;
  // latents [B, h, w, C] → images [B, f·h, f·w, 3], about −1 … 1. Tiles are decoded with all that they depend on, and are not blended.
  Tensor decode(const Tensor& latents) const override;
  Tensor decode_in_tiles(const Tensor& latents, int64_t tile) const override;

  const StageAConfig settings;

 private:
  nn::Conv2d first_;                                                 // up_blocks.0.0
  std::vector<std::variant<MixingBlock, nn::TransposedConv2d>> up_;  // up_blocks.i, from 1 on
  nn::Conv2d last_;                                                  // out_block.0
};

}  // namespace hearth::models::stable_cascade
