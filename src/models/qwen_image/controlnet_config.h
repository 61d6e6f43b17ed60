// The config.json of a ControlNet of Qwen-Image (QwenImageControlNetModel of diffusers 0.39.0).
#pragma once

#include "models/qwen_image/transformer_config.h"
#include "weights/layout/name_map.h"

namespace hearth::models::qwen_image {

struct ControlNetConfig {
  TransformerConfig blocks;    // of the copied blocks
  int64_t extra_channels = 0;  // extra_condition_channels: of the control image's tokens, behind in_channels; those of a mask

  bool fills() const { return extra_channels > 0; }  // what a mask covers in the image
  int64_t hint_channels() const { return blocks.in_channels + extra_channels; }

  // Reads every key. UnsupportedError names a key or value that is not supported; WeightError one that is malformed or contradicts another.
  static ControlNetConfig from(const Config& config);
  // Of a file without a config.json: sizes as its tensors show them, and what they do not show as the model that it is for has it.
  // UnsupportedError for other input channels than those of an image, or of an image and a mask.
  static ControlNetConfig of_tensors(const TensorList& official, const TransformerConfig& base, const std::string& where);

  friend bool operator==(const ControlNetConfig&, const ControlNetConfig&) = default;
};

// WeightError unless what the network adds fits the transformer, and the transformer's inputs the network.
void require_same_sizes(const ControlNetConfig& control, const TransformerConfig& base, const std::string& where);

}  // namespace hearth::models::qwen_image
