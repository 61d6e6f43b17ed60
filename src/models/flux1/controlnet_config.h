// The config.json of a ControlNet of FLUX.1 (FluxControlNetModel of diffusers 0.39.0).
#pragma once

#include <optional>

#include "models/flux1/transformer_config.h"
#include "weights/layout/name_map.h"

namespace hearth::models::flux1 {

struct ControlNetConfig {
  TransformerConfig blocks;   // of the copied blocks; it may have no single ones, and no double ones
  int64_t modes = 0;          // num_mode: kinds of images that a union tells apart; 0: it is for one kind
  int64_t hint_channels = 0;  // conditioning_embedding_channels: convolutions read the image's pixels; 0: it sees the image's latents

  // Reads every key. UnsupportedError names a key or value that is not supported; WeightError one that is malformed or contradicts another.
  static ControlNetConfig from(const Config& config);
  // Of a file without a config.json: sizes as its tensors show them, and what they do not show as the model that it is for has it.
  static ControlNetConfig of_tensors(const TensorList& official, const TransformerConfig& base);

  friend bool operator==(const ControlNetConfig&, const ControlNetConfig&) = default;
};

// WeightError unless what the network adds fits the transformer, and the transformer's inputs the network.
void require_same_sizes(const ControlNetConfig& control, const TransformerConfig& base, const std::string& where);

}  // namespace hearth::models::flux1
