// The config.json of a T5 encoder.
#pragma once

#include "core/backend.h"
#include "core/files/config.h"

namespace hearth::parts {

struct T5Config {
  int64_t vocabulary = 32128, width = 512, layers = 6;  // vocab_size, d_model, num_layers
  int64_t heads = 8, head = 64;                         // num_heads, d_kv; heads · head may differ from the width
  int64_t mlp_width = 2048;                             // d_ff
  int64_t buckets = 32, farthest = 128;                 // relative_attention_num_buckets, relative_attention_max_distance
  bool every_layer = false;                             // each layer has its own relative bias (UMT5); else all use the first one's
  bool gated = false;                                   // feed_forward_proj "gated-…"
  Activation activation = Activation::relu;             // "gelu" is exact, "gated-gelu" is the tanh form
  float eps = 1e-6f;                                    // layer_norm_epsilon

  // Reads every key. T5, mT5 and UMT5 are distinguished by `class_name` (of model_index.json), else by model_type, else by `architectures`;
  // the models with a decoder are accepted, because it is a file's encoder that is read. UnsupportedError names a key whose value would
  // change the result and is not supported, WeightError one that contradicts another.
  static T5Config from(const Config& config, const std::string& class_name = {});

  bool operator==(const T5Config&) const = default;
};

}  // namespace hearth::parts
