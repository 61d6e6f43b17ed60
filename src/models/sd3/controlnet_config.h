// The config.json of a ControlNet of Stable Diffusion 3 (SD3ControlNetModel of diffusers 0.39.0).
#pragma once

#include "models/sd3/config.h"
#include "weights/layout/name_map.h"

namespace hearth::models::sd3 {

struct ControlNetConfig {
  MmditConfig blocks;            // sizes of the copied blocks. text_width 0: joint_attention_dim is null, they do not see the text
  int64_t extra_channels = 0;    // extra_conditioning_channels: of the control image's latents; 1: a mask
  bool has_positions = true;     // pos_embed_type: the network's own patches have a position table
  bool of_transformer = false;   // use_pos_embed is false: patches and positions are the model's
  bool sees_pooled_text = true;  // force_zeros_for_pooled_projection is false: zeros stand for the pooled text otherwise

  bool sees_text() const { return blocks.text_width > 0; }
  bool fills() const { return extra_channels > 0; }  // what a mask covers in the image

  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported; WeightError names one that
  // contradicts another.
  static ControlNetConfig from(const Config& config);
  // Of a file without a config.json: sizes as its tensors show them, and what they do not show as the model that it is for has it.
  static ControlNetConfig of_tensors(const TensorList& official, const MmditConfig& base);

  bool operator==(const ControlNetConfig&) const = default;
};

// WeightError unless what the network adds fits the transformer, and the transformer's inputs the network.
void require_same_sizes(const ControlNetConfig& control, const MmditConfig& base, const std::string& where);

}  // namespace hearth::models::sd3
