// A family whose network is a parts::Decoder: it declares only its own properties and a function that reads its config.
//
//   Entry entry() {
//     return {
//         .name = "tiny",
//         .summary = "…",
//         .task = decoder_family<read_config>({.model_types = {"tiny"}, .class_name = "TinyForCausalLM", .gguf = {.name = "tiny"}}),
//     };
//   }
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "models/decoder_model.h"
#include "models/registry.h"

namespace hearth::models {

// Rows for families with these keys. A bias exists if the first layer has one.
inline constexpr GgufKey gguf_attention_bias{.config = "attention_bias", .kind = GgufKey::Kind::present, .tensor = "blk.0.attn_q.bias"};
inline constexpr GgufKey gguf_mlp_bias{.config = "mlp_bias", .kind = GgufKey::Kind::present, .tensor = "blk.0.ffn_gate.bias"};
inline constexpr GgufKey gguf_window{.key = "attention.sliding_window", .config = "sliding_window", .optional = true};
// Written as 0 if there is no window (parts::read_window_or_none).
inline constexpr GgufKey gguf_window_or_none{
    .key = "attention.sliding_window", .config = "sliding_window", .otherwise = [](const GgufKeys&) { return 0.0; }};

inline constexpr GgufKey gguf_score_cap{.key = "attn_logit_softcapping", .config = "attn_logit_softcapping", .kind = GgufKey::Kind::number};
inline constexpr GgufKey gguf_logit_cap{
    .key = "final_logit_softcapping", .config = "final_logit_softcapping", .kind = GgufKey::Kind::number, .optional = true};

// Of a family with partial_rotary_factor.
inline constexpr GgufKey gguf_rotary_dimension{.key = "rope.dimension_count", .config = "rotary_dimension"};
// Of a family whose norms are layer norms.
inline constexpr GgufKey gguf_layer_norm_eps{
    .key = "attention.layer_norm_epsilon", .config = "layer_norm_eps", .kind = GgufKey::Kind::number};
inline constexpr GgufKey gguf_no_rms_norm{.key = "attention.layer_norm_rms_epsilon", .kind = GgufKey::Kind::nothing};
inline constexpr GgufKey gguf_logit_scale{.key = "logit_scale", .config = "logit_scale", .kind = GgufKey::Kind::number};

// Of a family without rotary positions, in place of the rows for them.
inline constexpr GgufKey gguf_without_positions[] = {{.key = "rope.dimension_count", .kind = GgufKey::Kind::nothing},
                                                     {.key = "rope.freq_base", .kind = GgufKey::Kind::nothing},
                                                     {.config = "rope_scaling", .kind = GgufKey::Kind::nothing},
                                                     {.config = "rope_divisors", .kind = GgufKey::Kind::nothing}};
// Of a family without attention, in place of the rows for it.
inline constexpr GgufKey gguf_without_attention[] = {{.key = "attention.head_count", .kind = GgufKey::Kind::nothing},
                                                     {.key = "attention.head_count_kv", .kind = GgufKey::Kind::nothing},
                                                     {.key = "attention.key_length", .kind = GgufKey::Kind::nothing},
                                                     {.key = "attention.value_length", .kind = GgufKey::Kind::nothing}};
// Of a family whose blocks see the token before, in place of the rows for attention.
inline constexpr GgufKey gguf_token_shift[] = {{.key = "attention.head_count", .config = "attention_heads"},
                                               {.key = "attention.head_count_kv", .kind = GgufKey::Kind::nothing},
                                               {.key = "attention.key_length", .kind = GgufKey::Kind::nothing},
                                               {.key = "attention.value_length", .kind = GgufKey::Kind::nothing},
                                               {.key = "attention.layer_norm_rms_epsilon", .kind = GgufKey::Kind::nothing},
                                               {.key = "token_shift_count", .kind = GgufKey::Kind::nothing}};
// All these rows.
inline std::vector<GgufKey> joined(std::vector<GgufKey> rows, std::initializer_list<std::span<const GgufKey>> more) {
  for (const std::span<const GgufKey> part : more) rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

// query_pre_attn_scalar, which GGUF files lack. Only in the largest model, which has this number of layers, it is not the size of a head.
template <int64_t layers_of_largest> std::string score_divisor(const Config& c) {
  const bool largest = c.integer("num_hidden_layers") == layers_of_largest;
  return std::to_string(largest ? c.integer("hidden_size") / c.integer("num_attention_heads") : c.integer("head_dim"));
}

// Of a family with longrope, in place of the rows for other rope scaling.
inline constexpr GgufKey gguf_longrope[] = {
    {.key = "rope.scaling.original_context_length", .config = "original_max_position_embeddings", .optional = true},
    {.key = "rope.scaling.attn_factor", .config = "rope_attention_factor", .kind = GgufKey::Kind::number, .optional = true},
    {.key = "rope.scaling.type", .kind = GgufKey::Kind::nothing},
    {.config = "rope_short_divisors", .kind = GgufKey::Kind::divisors, .tensor = "rope_factors_short.weight"},
    {.config = "rope_long_divisors", .kind = GgufKey::Kind::divisors, .tensor = "rope_factors_long.weight"},
    {.config = "rope_scaling", .kind = GgufKey::Kind::nothing},
};

// Names of layers with a norm on both sides of each block (parts::sandwich_norm).
inline constexpr Alias sandwich_names[] = {{"blk.#.post_attention_norm.*", "model.layers.#.post_attention_layernorm.*"},
                                           {"blk.#.ffn_norm.*", "model.layers.#.pre_feedforward_layernorm.*"},
                                           {"blk.#.post_ffw_norm.*", "model.layers.#.post_feedforward_layernorm.*"}};
// Names of experts under those of most families.
inline constexpr Alias gguf_expert_names[] = {{"blk.#.ffn_gate_inp.*", "model.layers.#.mlp.gate.*"}};
inline constexpr Alias gguf_shared_expert_names[] = {{"blk.#.ffn_gate_shexp.*", "model.layers.#.mlp.shared_experts.gate_proj.*"},
                                                     {"blk.#.ffn_up_shexp.*", "model.layers.#.mlp.shared_experts.up_proj.*"},
                                                     {"blk.#.ffn_down_shexp.*", "model.layers.#.mlp.shared_experts.down_proj.*"}};
inline constexpr StackRule gguf_expert_stacks[] = {{"blk.#.ffn_gate_exps.weight", "model.layers.#.mlp.experts.#.gate_proj.weight"},
                                                   {"blk.#.ffn_up_exps.weight", "model.layers.#.mlp.experts.#.up_proj.weight"},
                                                   {"blk.#.ffn_down_exps.weight", "model.layers.#.mlp.experts.#.down_proj.weight"}};
// For GgufArchitecture::plus_one.
inline constexpr std::string_view all_norms[] = {"model.norm.weight", "model.layers.#.*.weight", "model.layers.#.self_attn.q_norm.weight",
                                                 "model.layers.#.self_attn.k_norm.weight"};
// For GgufArchitecture::neighbors.
inline constexpr GgufHeads queries_and_keys[] = {{"model.layers.#.self_attn.q_proj.*", "num_attention_heads"},
                                                 {"model.layers.#.self_attn.k_proj.*", "num_key_value_heads"}};

// For heads of which only a part is rotated: in place of the check that all decoders share, which refuses them.
void check_partial_heads(const GgufKeys& keys);

// Completes the family's own declaration with what all decoders share: sizes, keys and tensor names of GGUF files. Rows of the family
// replace shared ones.
LanguageFamily with_decoder_tables(LanguageFamily own);

template <parts::DecoderConfig (*read)(const Config&)> LanguageFamily decoder_family(LanguageFamily own) {
  own.spell_out = [](const Config& config) { return config.completed(read); };
  own.decoder = read;
  own.build = [](const Config& config, Weights& weights) { return make_decoder_model(read(config), weights); };
  return with_decoder_tables(std::move(own));
}

}  // namespace hearth::models
