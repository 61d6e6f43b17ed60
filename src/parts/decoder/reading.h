// Helpers for the families' read_config() functions. A family reads config.json with them and with its own keys, puts the layers together,
// and calls DecoderKeys::finish() at the end.
//
//   parts::DecoderConfig read_config(const Config& c) {
//     c.only("model_type", {"tiny"});
//     const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 1000, .width = 64});
//     DecoderConfig d = keys.decoder();
//     d.layers.assign(size_t(keys.layers), pre_norm(keys.rms_norm(), keys.attention(), keys.mlp()));
//     keys.finish(c);
//     return d;
//   }
#pragma once

#include <functional>

#include "parts/decoder/config.h"

namespace hearth::parts {

// The keys that nearly all families have, under transformers' names; as members, with the defaults of the family.
struct DecoderKeys {
  int64_t vocabulary = 32000, width = 4096, mlp_width = 11008,
          layers = 32;                       // vocab_size, hidden_size, intermediate_size, num_hidden_layers
  int64_t heads = 32, groups = 0, head = 0;  // num_attention_heads, num_key_value_heads (0: heads), head_dim (0: width / heads)
  int64_t positions = 2048;                  // max_position_embeddings
  Activation activation = Activation::silu;  // hidden_act
  float eps = 1e-6f;                         // rms_norm_eps
  bool tied = false;                         // tie_word_embeddings
  double partial = 1;                        // partial_rotary_factor: part of each head that is rotated; only if the family has the key
  RotaryConfig rotary = {};                  // rope_theta, rope_scaling or rope_parameters; other keys of RotaryConfig::from; and `pairs`
  std::string rotary_layers = {};            // RotaryConfig::Defaults::layers
  bool rotates = true;                       // false: the family has no rotary positions, and `rotary` is not read
  struct Names {                             // of keys that have another name in some families
    std::string activation = "hidden_act", eps = "rms_norm_eps", head = "head_dim", partial;
  } names = {};
  Activation default_activation = Activation::silu;  // set by read()

  // WeightError for a value that is invalid or contradicts another.
  static DecoderKeys read(const Config& config, const DecoderKeys& defaults);
  // The same for a family without attention and MLPs: no heads, no rotary positions, no intermediate_size.
  static DecoderKeys read_without_attention(const Config& config, const DecoderKeys& defaults);
  // Only vocab_size, hidden_size, num_hidden_layers, max_position_embeddings and tie_word_embeddings.
  static DecoderKeys read_sizes(const Config& config, const DecoderKeys& defaults);
  // The other keys of published files: those of training and bookkeeping are ignored; those that would change the network, and that the
  // family has not read, have one supported value. Then Config::finish().
  void finish(const Config& config) const;

  DecoderConfig decoder() const;  // without layers; one rotary table
  AttentionConfig attention() const { return {.heads = heads, .groups = groups, .head = head}; }
  MlpConfig mlp() const { return {.width = mlp_width, .activation = activation}; }
  MlpConfig fused_mlp() const { return {.width = mlp_width, .activation = activation, .fused = true}; }
  NormConfig rms_norm() const { return {.eps = eps}; }
  NormConfig layer_norm() const { return {.kind = NormConfig::Kind::layer, .eps = eps}; }
};

// The layer of most families: attention behind input_layernorm, an MLP behind post_attention_layernorm.
LayerConfig pre_norm(const NormConfig& norm, const BlockConfig& attention, const BlockConfig& mlp);

// A decoder whose layers are one of these mixers behind a norm, without rotary positions, under the names of mamba_ssm:
// backbone.layers.#.mixer.
DecoderConfig backbone(const DecoderKeys& keys, const BlockConfig& mixer);

// The layer between norms of Gemma: input_layernorm, attention, post_attention_layernorm; pre_feedforward_layernorm, MLP,
// post_feedforward_layernorm.
LayerConfig sandwich_norm(const NormConfig& norm, const BlockConfig& attention, const BlockConfig& mlp);

// The layer of one norm, input_layernorm, behind which are attention and MLP side by side.
LayerConfig parallel_norm(const NormConfig& norm, const BlockConfig& attention, const BlockConfig& mlp);

// The norm of checkpoints that store the weight minus 1. norm_offset is 0 in GGUF files, which store the sum.
NormConfig read_offset_norm(const Config& config, const DecoderKeys& keys);

// Embeddings are multiplied by the root of their size.
void scale_embeddings_by_root(DecoderConfig& decoder);

// The scale of scores, 1/√key.
float read_score_divisor(const Config& config, const std::string& key, double otherwise);

// Which layers are "sliding_attention" and not "full_attention" in layer_types; as `usual` says if there is no such key.
std::vector<bool> read_sliding_layers(const Config& config, int64_t layers, const std::function<bool(int64_t)>& usual);

// The same, where usually every n-th layer is "full_attention" and n is sliding_window_pattern.
std::vector<bool> read_sliding_pattern(const Config& config, int64_t layers, int64_t default_pattern);

// The number of experts under `count`, and num_experts_per_tok of them for each token. WeightError if there are more than that.
RouterConfig read_router(const Config& config, const std::string& count, int64_t default_count, int64_t default_chosen);
// Which layers have experts: every decoder_sparse_step-th, without those in mlp_only_layers.
std::vector<bool> read_sparse_layers(const Config& config, int64_t layers);
// Of recurrent mixers: ⌈hidden_size / 16⌉ if the key is absent or "auto".
int64_t read_step_rank(const Config& config, const std::string& key, int64_t width);
// Whether A_log holds logarithms: false in GGUF files, which store the decay rates themselves.
bool read_decay_logarithms(const Config& config);
// The two limits of steps. WeightError unless they are in ascending order.
void read_step_limits(const Config& config, const std::string& key, StateSpaceMixerConfig& to);
// Settings of initialization, and of programs that compute the recurrence.
void ignore_recurrent_training(const Config& config);

// The window of all layers, if use_sliding_window; 0: none. max_window_layers has no effect.
int64_t read_shared_window(const Config& config);

// sliding_window; absent, null or 0: none.
int64_t read_window_or_none(const Config& config);

// A soft cap; null, which means none, is 0.
float read_soft_cap(const Config& config, const std::string& key, double otherwise);

// The window of each layer (0: none), from use_sliding_window, sliding_window, max_window_layers and layer_types, as in Qwen's configs.
std::vector<int64_t> read_layer_windows(const Config& config, int64_t layers);
// For families whose layers do not depend on these keys: UnsupportedError if they contradict `window`, that of all layers.
void require_layers_alike(const Config& config, int64_t window);

}  // namespace hearth::parts
