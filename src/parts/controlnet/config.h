// All keys of a ControlNetModel's or ControlNetUnionModel's config.json.
#pragma once

#include "parts/unet/config.h"
#include "weights/layout/name_map.h"

namespace hearth::parts {

struct ControlNetConfig {
  // Of a network for several kinds of control images (ControlNetUnionModel).
  struct Union {
    int64_t types = 6;        // num_control_type
    int64_t channels = 320;   // num_trans_channel: width of the transformer over the images' means; that of the UNet's first level
    int64_t heads = 8;        // num_trans_head
    int64_t layers = 1;       // num_trans_layer
    int64_t projected = 320;  // num_proj_channel; the same
    bool operator==(const Union&) const = default;
  };

  UnetConfig unet;                                         // of the copied half; its up blocks mirror the down blocks
  int64_t image_channels = 3;                              // conditioning_channels
  std::vector<int64_t> hint_channels = {16, 32, 96, 256};  // conditioning_embedding_out_channels: each but the last halves the image
  bool bgr = false;                                        // controlnet_conditioning_channel_order
  bool pools = false;                                      // global_pool_conditions: residuals are averaged over the image
  std::optional<Union> unified;

  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported; WeightError names one that
  // contradicts another.
  static ControlNetConfig from(const Config& config);
  // Of a file without a config.json: sizes as its tensors show them, and what they do not show (heads, norms, activations) as `base`, the
  // UNet that it is for, if require_same_half() does not find another.
  static ControlNetConfig of_tensors(const TensorList& official, const UnetConfig& base);

  int64_t factor() const { return int64_t(1) << (hint_channels.size() - 1); }  // pixels of the image per latent pixel, each way

  bool operator==(const ControlNetConfig&) const = default;
};

// WeightError unless the network's residuals fit `base`, a model's UNet: channels and layers of each level, latent channels, widths of text
// states and added embedding. The message says for which sizes the network is.
void require_same_half(const ControlNetConfig& control, const UnetConfig& base, const std::string& where);

}  // namespace hearth::parts
