// Qwen 2.5 VL as the text encoder of Qwen-Image: its language model and, where prompts contain images, its vision tower.
#pragma once

#include <optional>

#include "parts/decoder/text_encoder.h"
#include "parts/qwen_vision/qwen_vision.h"

namespace hearth::models::qwen_image {

struct TextEncoderConfig {
  parts::DecoderConfig text;
  std::optional<parts::QwenVisionConfig> vision;  // absent if prompts contain no images
};

struct TextEncoder {
  TextEncoder(const Scope& w, const TextEncoderConfig& config);

  // The last hidden states of each text, behind the norm, [T, C] f32.
  std::vector<Tensor> operator()(std::span<const parts::PaddedText> texts) const;

  parts::DecoderTextEncoder text;
  std::optional<parts::QwenVision> vision;  // visual
};

}  // namespace hearth::models::qwen_image
