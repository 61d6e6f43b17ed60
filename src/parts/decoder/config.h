// The config.json of a language model whose network is a Decoder.
#pragma once

#include "parts/decoder/rotary.h"

namespace hearth::parts {

struct DecoderConfig {
  int64_t vocabulary = 32000, width = 4096, mlp_width = 11008,
          layers = 32;                          // vocab_size, hidden_size, intermediate_size, num_hidden_layers
  int64_t heads = 32, groups = 32, head = 128;  // num_attention_heads, num_key_value_heads, head_dim
  int64_t positions = 2048;                     // max_position_embeddings
  Activation activation = Activation::silu;
  float eps = 1e-6f;  // rms_norm_eps
  bool tied = false;  // tie_word_embeddings: the output matrix is the embedding table
  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  bool qk_norm = false;          // RMSNorm over each head of q and k (Qwen 3)
  std::vector<int64_t> windows;  // per layer: number of keys that a query attends to; 0: all
  RotaryConfig rotary;
  RotaryPairs pairs = RotaryPairs::halves;

  // The keys that all these families share, with the defaults of `defaults`; the family reads its own and calls finish(). Besides
  // the keys of transformers: rope_pairs ("halves", "neighbors") and rope_divisors, which weights/gguf/gguf_language.h adds.
  static DecoderConfig common(const Config& config, const DecoderConfig& defaults);

  bool operator==(const DecoderConfig&) const = default;
};

// use_sliding_window, sliding_window, max_window_layers and layer_types, as in Qwen's configs.
void read_layer_windows(const Config& config, DecoderConfig& d);
// For families whose layers do not depend on these keys: UnsupportedError if they have another value.
void require_layers_alike(const Config& config, const DecoderConfig& d);

}  // namespace hearth::parts
