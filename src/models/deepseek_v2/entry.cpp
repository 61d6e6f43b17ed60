#include "models/decoder_family.h"
#include "models/deepseek_v2/config.h"
#include "models/deepseek_v2/heads_apart.h"

namespace hearth::models::deepseek_v2 {

constexpr LanguageSize sizes[] = {{"vocab_size", "model.embed_tokens.weight", 0},
                                  {"hidden_size", "model.embed_tokens.weight", 1},
                                  {"num_hidden_layers", "model.layers.#.input_layernorm.weight"}};

Entry entry() {
  using Kind = GgufKey::Kind;
  std::vector<Alias> names(std::begin(gguf_expert_names), std::end(gguf_expert_names));
  names.insert(names.end(), std::begin(gguf_shared_expert_names), std::end(gguf_shared_expert_names));
  names.insert(names.end(), {{"blk.#.attn_q_a.*", "model.layers.#.self_attn.q_a_proj.*"},
                             {"blk.#.attn_q_a_norm.*", "model.layers.#.self_attn.q_a_layernorm.*"},
                             {"blk.#.attn_q_b.*", "model.layers.#.self_attn.q_b_proj.*"},
                             {"blk.#.attn_kv_a_mqa.*", "model.layers.#.self_attn.kv_a_proj_with_mqa.*"},
                             {"blk.#.attn_kv_a_norm.*", "model.layers.#.self_attn.kv_a_layernorm.*"},
                             {"blk.#.attn_kv_b.*", "model.layers.#.self_attn.kv_b_proj.*"},
                             {"blk.#.exp_probs_b.bias", "model.layers.#.mlp.gate.e_score_correction_bias"}});
  std::vector<StackRule> stacks(std::begin(gguf_expert_stacks), std::end(gguf_expert_stacks));
  stacks.insert(stacks.end(), {{"blk.#.attn_k_b.weight", "model.layers.#.self_attn.k_b.#.weight"},
                               {"blk.#.attn_v_b.weight", "model.layers.#.self_attn.v_b.#.weight"}});
  return {
      .name = "deepseek_v2",
      .summary = "DeepSeek V2, V2-Lite, V3 and R1: text to text, latent attention, experts in groups",
      .task = decoder_family<read_config>({
          .model_types = {"deepseek_v2", "deepseek_v3"},
          .class_name = "DeepseekV2ForCausalLM",
          .tokenizer_class = "LlamaTokenizer",
          .sizes = sizes,
          .experts = LanguageSize{"n_routed_experts", "model.layers.#.mlp.gate.weight", 0},
          .gguf = {.name = "deepseek2",
                   .keys = {{.key = "attention.head_count_kv", .config = "cache_heads"},
                            {.key = "attention.key_length_mla",
                             .config = "qk_head_dim",
                             .otherwise = [](const GgufKeys& k) { return double(k.integer("attention.key_length")); }},
                            {.key = "attention.value_length_mla",
                             .config = "v_head_dim",
                             .otherwise = [](const GgufKeys& k) { return double(k.integer("attention.value_length")); }},
                            {.key = "attention.key_length", .config = "cache_size"},
                            {.key = "attention.kv_lora_rank", .config = "kv_lora_rank"},
                            {.key = "attention.value_length", .config = "kv_lora_rank"},
                            {.key = "attention.q_lora_rank", .config = "q_lora_rank", .optional = true},
                            {.key = "rope.dimension_count", .config = "qk_rope_head_dim"},
                            {.config = "attention_bias", .kind = Kind::present, .tensor = "blk.0.attn_kv_a_mqa.bias"},
                            {.config = "mlp_bias", .kind = Kind::present, .tensor = "blk.0.ffn_gate.bias"},
                            {.key = "leading_dense_block_count", .config = "first_k_dense_replace"},
                            {.key = "expert_count", .config = "n_routed_experts"},
                            {.key = "expert_used_count", .config = "num_experts_per_tok"},
                            {.key = "expert_shared_count", .config = "n_shared_experts"},
                            {.key = "expert_feed_forward_length", .config = "moe_intermediate_size"},
                            {.key = "expert_weights_scale",
                             .config = "routed_scaling_factor",
                             .kind = Kind::number,
                             .otherwise = [](const GgufKeys&) { return 1.0; }},
                            {.key = "expert_weights_norm", .config = "norm_topk_prob", .kind = Kind::flag, .optional = true},
                            {.key = "expert_gating_func", .config = "gating_func", .otherwise = [](const GgufKeys&) { return 1.0; }},
                            {.key = "expert_group_count", .config = "n_group", .optional = true},
                            {.key = "expert_group_used_count", .config = "topk_group", .optional = true}},
                   .names = names,
                   .stacks = stacks,
                   .check = [](const GgufKeys&) {}},
          .present = heads_apart,
      }),
  };
}

}  // namespace hearth::models::deepseek_v2
