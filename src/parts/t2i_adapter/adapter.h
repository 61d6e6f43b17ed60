// T2I-Adapter (Mou et al. 2023, arXiv 2302.08453): a small network that turns an image into features, once for a run, which the UNet adds
// to its down blocks. After diffusers' T2IAdapter, 0.39.0.
#pragma once

#include <optional>
#include <vector>

#include "nn/layers.h"
#include "parts/unet/config.h"
#include "weights/layout/name_map.h"

namespace hearth::parts {

struct T2iAdapterConfig {
  enum class Kind { full, full_xl, light };  // adapter_type
  Kind kind = Kind::full;
  int64_t image_channels = 3;  // in_channels; 1: gray
  std::vector<int64_t> channels = {320, 640, 1280, 1280};
  int64_t blocks = 2;  // num_res_blocks
  int64_t factor = 8;  // downscale_factor: pixels that one position reads, each way

  // Reads every key. UnsupportedError, WeightError.
  static T2iAdapterConfig from(const Config& config);
  // Of a file without a config.json, by its tensors under official names. WeightError if they are of no known kind.
  static T2iAdapterConfig of_tensors(const TensorList& official, const std::string& where);

  // Channels of each feature, and how many times it is halved after the first.
  struct Feature {
    int64_t channels = 0, halvings = 0;
  };
  std::vector<Feature> features() const;

  bool operator==(const T2iAdapterConfig&) const = default;
};

// WeightError unless the UNet can add the features: their channels and sizes are those of its down blocks. `latent_factor`: pixels per
// latent pixel, each way.
void require_features_fit(const T2iAdapterConfig& adapter, const UnetConfig& base, int64_t latent_factor, const std::string& where);

// h = x + block2(relu(block1(x))).   x [B, H, W, C] → the same shape
struct AdapterResnetBlock {
  AdapterResnetBlock(const Scope& w, int64_t channels, int64_t second_kernel);
  Tensor operator()(const Tensor& x) const;

  nn::Conv2d block1, block2;
};

// x [B, H, W, in] → [B, H, W, out], or [B, ⌈H/2⌉, ⌈W/2⌉, out] if it halves x first (average of 2 × 2).
struct AdapterBlock {
  bool halves = false;
  std::optional<nn::Conv2d> in_conv;  // 1×1
  std::vector<AdapterResnetBlock> resnets;
  std::optional<nn::Conv2d> out_conv;  // 1×1, of light adapters

  Tensor operator()(Tensor x) const;
};

struct T2iAdapter {
  T2iAdapter(const Scope& w, const T2iAdapterConfig& config);

  // image [B, H, W, 3] in 0 … 1, sides multiples of the factor → features, one for each block. ShapeError for other sides.
  std::vector<Tensor> operator()(const Tensor& image) const;

  T2iAdapterConfig config;
  std::optional<nn::Conv2d> conv_in;  // adapter.conv_in; light adapters have none
  std::vector<AdapterBlock> body;     // adapter.body.i
};

// Each f × f pixels become one position: x [B, H, W, C] → [B, H/f, W/f, C·f²], channel c·f² + dy·f + dx.
Tensor pixel_unshuffle(const Tensor& x, int64_t factor);

}  // namespace hearth::parts
