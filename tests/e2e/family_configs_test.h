// A tiny configuration of every family of decoders, for tests that take each of them through the whole program.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "models/language_family.h"

namespace hearth::test {

// What the configurations of most families have in common. Heads have 32 elements, and all rows are whole blocks.
inline nlohmann::json common_config(const std::string& model_type, int64_t vocabulary) {
  return {{"model_type", model_type}, {"vocab_size", vocabulary},       {"hidden_size", 128},
          {"intermediate_size", 96},  {"num_hidden_layers", 3},         {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"max_position_embeddings", 256}, {"tie_word_embeddings", false}};
}

// The families' own keys.
inline const std::map<std::string, nlohmann::json> family_keys = {
    {"llama", {{"attention_bias", true}, {"mlp_bias", true}, {"head_dim", 32}}},
    {"mistral", {{"sliding_window", 9}}},
    {"qwen2", nlohmann::json::object()},
    {"qwen3", {{"head_dim", 32}, {"tie_word_embeddings", true}}},
    {"mixtral", {{"num_local_experts", 5}}},
    {"qwen2_moe", {{"num_experts", 6}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 32}, {"shared_expert_intermediate_size", 64}}},
    {"qwen3_moe", {{"num_experts", 6}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 32}, {"norm_topk_prob", true}}},
    {"phimoe", {{"num_local_experts", 5}, {"attention_bias", true}, {"lm_head_bias", true}}},
    {"gpt_oss", {{"num_local_experts", 5}, {"num_experts_per_tok", 2}, {"head_dim", 32}, {"sliding_window", 9}, {"rope_scaling", nullptr}}},
    {"gemma2", {{"head_dim", 32}, {"query_pre_attn_scalar", 32}, {"sliding_window", 9}, {"tie_word_embeddings", true}}},
    {"gemma3",
     {{"model_type", "gemma3_text"},
      {"head_dim", 32},
      {"query_pre_attn_scalar", 32},
      {"sliding_window", 9},
      {"num_hidden_layers", 7},
      {"tie_word_embeddings", true}}},
    {"phi3",
     {{"partial_rotary_factor", 0.5},
      {"original_max_position_embeddings", 64},
      {"rope_scaling",
       {{"type", "longrope"}, {"short_factor", {1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5}}, {"long_factor", {2, 3, 4, 5, 6, 7, 8, 9}}}}}},
    {"smollm3", {{"num_hidden_layers", 5}}},
    {"granite", {{"attention_multiplier", 0.2}, {"embedding_multiplier", 2.0}, {"residual_multiplier", 0.5}, {"logits_scaling", 4.0}}},
    {"olmo2", nlohmann::json::object()},
    {"internlm2", {{"bias", true}}},
    {"stablelm", {{"partial_rotary_factor", 0.5}, {"use_qkv_bias", true}, {"qk_layernorm", true}, {"use_parallel_residual", true}}},
    {"cohere", {{"use_qk_norm", true}, {"tie_word_embeddings", true}}},
    {"cohere2", {{"num_hidden_layers", 5}, {"sliding_window", 9}, {"tie_word_embeddings", true}}},
    {"glm4", {{"head_dim", 32}}},
    {"glm", {{"head_dim", 32}}},
    {"qwen3_next",
     {{"num_hidden_layers", 4},
      {"head_dim", 32},
      {"partial_rotary_factor", 0.5},
      {"num_experts", 6},
      {"num_experts_per_tok", 2},
      {"moe_intermediate_size", 32},
      {"shared_expert_intermediate_size", 64},
      {"linear_num_key_heads", 2},
      {"linear_num_value_heads", 4},
      {"linear_key_head_dim", 16},
      {"linear_value_head_dim", 32}}},
    {"rwkv7",
     {{"num_attention_heads", nullptr},
      {"num_key_value_heads", nullptr},
      {"head_dim", 32},
      {"decay_low_rank_dim", 32},
      {"a_low_rank_dim", 32},
      {"v_low_rank_dim", 32},
      {"gate_low_rank_dim", 32}}},
    {"rwkv6", {{"num_key_value_heads", nullptr}, {"head_size", 32}, {"time_decay_extra_dim", 32}}},
    {"recurrent_gemma", {{"num_hidden_layers", 4}, {"attention_window_size", 64}, {"tie_word_embeddings", true}}},
    {"deepseek", {{"n_routed_experts", 6}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 32}, {"first_k_dense_replace", 1}}},
    {"deepseek_v2",
     {{"n_routed_experts", 8},
      {"num_experts_per_tok", 2},
      {"moe_intermediate_size", 32},
      {"first_k_dense_replace", 1},
      {"n_group", 4},
      {"topk_group", 2},
      {"topk_method", "group_limited_greedy"},
      {"kv_lora_rank", 32},
      {"q_lora_rank", 32},
      {"qk_nope_head_dim", 32},
      {"qk_rope_head_dim", 32},
      {"v_head_dim", 32}}},
    {"mamba",
     {{"num_attention_heads", nullptr},
      {"num_key_value_heads", nullptr},
      {"state_size", 8},
      {"time_step_rank", 32},
      {"tie_word_embeddings", true}}},
    {"mamba2",
     {{"num_attention_heads", nullptr},
      {"num_key_value_heads", nullptr},
      {"intermediate_size", nullptr},
      {"num_heads", 8},
      {"head_dim", 32},
      {"state_size", 8},
      {"n_groups", 2}}},
    {"jamba",
     {{"num_hidden_layers", 4},
      {"attn_layer_period", 3},
      {"attn_layer_offset", 1},
      {"num_experts", 4},
      {"mamba_d_state", 16},
      {"mamba_dt_rank", 32}}},
    {"zamba2",
     {{"num_hidden_layers", 4},
      {"layers_block_type", {"mamba", "hybrid", "mamba", "hybrid"}},
      {"num_key_value_heads", 4},
      {"n_mamba_heads", 4},
      {"mamba_d_state", 8},
      {"adapter_rank", 32},
      {"use_shared_attention_adapter", true},
      {"use_mem_rope", true}}}};

inline nlohmann::json family_config(const std::string& name, const models::LanguageFamily& family, int64_t vocabulary) {
  nlohmann::json config = common_config(std::string(family.model_types[0]), vocabulary);
  config.update(family_keys.at(name));
  return config;
}

}  // namespace hearth::test
