// The config.json of a BERT encoder.
#pragma once

#include "core/backend.h"
#include "core/files/config.h"

namespace hearth::parts {

// The defaults are the reference's.
struct BertConfig {
  int64_t vocabulary = 30522, width = 768, layers = 12, heads = 12, mlp_width = 3072;
  int64_t positions = 512, token_types = 2;  // max_position_embeddings, type_vocab_size
  Activation activation = Activation::gelu;
  float eps = 1e-12f;  // layer_norm_eps

  // Reads every key. UnsupportedError names a key whose value would change the result and is not supported, WeightError one that
  // contradicts another.
  static BertConfig from(const Config& config);

  bool operator==(const BertConfig&) const = default;
};

}  // namespace hearth::parts
