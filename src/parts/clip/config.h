// The config.json of a CLIP text encoder.
#pragma once

#include "core/backend.h"
#include "core/files/config.h"

namespace hearth::parts {

struct ClipTextConfig {
  int64_t vocabulary = 49408, positions = 77;  // vocab_size, max_position_embeddings
  int64_t width = 512, layers = 12, heads = 8, mlp_width = 2048;
  Activation activation = Activation::quick_gelu;
  float eps = 1e-5f;          // layer_norm_eps
  int64_t end_token = 49407;  // eos_token_id; 2 means "the highest id", see ClipTextOutput::pooled
  int64_t projection = 0;     // width of text_projection; 0: none (CLIPTextModel)

  // Reads every key. The class (CLIPTextModel, or CLIPTextModelWithProjection, which has a projection) is taken from
  // `architectures`, or from `class_name` if model_index.json names it. UnsupportedError names a key whose value would
  // change the result and is not supported, WeightError one that contradicts another.
  static ClipTextConfig from(const Config& config, const std::string& class_name = {});

  bool operator==(const ClipTextConfig&) const = default;
};

}  // namespace hearth::parts
