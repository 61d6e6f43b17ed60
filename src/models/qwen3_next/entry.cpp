#include "models/decoder_family.h"
#include "models/qwen3_next/config.h"

namespace hearth::models::qwen3_next {
namespace {

constexpr LanguageGeometry geometries[] = {
    {"qwen3-next-80b-a3b",
     R"({"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5120, "num_hidden_layers": 48, "num_attention_heads": 16,
         "num_key_value_heads": 2, "head_dim": 256, "max_position_embeddings": 262144, "rope_theta": 10000000, "linear_num_key_heads": 16,
         "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
         "num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512})"},
};

}  // namespace

Entry entry() {
  using Kind = GgufKey::Kind;
  std::vector<Alias> names(std::begin(gguf_expert_names), std::end(gguf_expert_names));
  names.insert(names.end(), {{"blk.#.ffn_gate_inp_shexp.*", "model.layers.#.mlp.shared_expert_gate.*"},
                             {"blk.#.ffn_gate_shexp.*", "model.layers.#.mlp.shared_expert.gate_proj.*"},
                             {"blk.#.ffn_up_shexp.*", "model.layers.#.mlp.shared_expert.up_proj.*"},
                             {"blk.#.ffn_down_shexp.*", "model.layers.#.mlp.shared_expert.down_proj.*"},
                             {"blk.#.post_attention_norm.*", "model.layers.#.post_attention_layernorm.*"},
                             {"blk.#.attn_qkv.*", "model.layers.#.linear_attn.in_proj_qkv.*"},
                             {"blk.#.attn_gate.*", "model.layers.#.linear_attn.in_proj_z.*"},
                             {"blk.#.ssm_in.*", "model.layers.#.linear_attn.in_proj_qkvz.*"},  // of older files
                             {"blk.#.ssm_ba.*", "model.layers.#.linear_attn.in_proj_ba.*"},
                             {"blk.#.ssm_conv1d.*", "model.layers.#.linear_attn.conv1d.*"},
                             {"blk.#.ssm_a", "model.layers.#.linear_attn.a"},
                             {"blk.#.ssm_dt.bias", "model.layers.#.linear_attn.dt_bias"},
                             {"blk.#.ssm_norm.*", "model.layers.#.linear_attn.norm.*"},
                             {"blk.#.ssm_out.*", "model.layers.#.linear_attn.out_proj.*"}});
  return {
      .name = "qwen3_next",
      .summary = "Qwen3-Next: text to text, gated delta rule in most layers, gated attention in the others, experts",
      .task = decoder_family<read_config>({
          .model_types = {"qwen3_next"},
          .class_name = "Qwen3NextForCausalLM",
          .tokenizer_class = "Qwen2Tokenizer",
          .experts = LanguageSize{"num_experts", "model.layers.#.mlp.gate.weight", 0},
          .gguf =
              {.name = "qwen3next",
               .keys = {{.config = "attention_bias", .kind = Kind::present, .tensor = "blk.3.attn_q.bias"},
                        gguf_rotary_dimension,
                        {.key = "expert_count", .config = "num_experts"},
                        {.key = "expert_used_count", .config = "num_experts_per_tok"},
                        {.key = "expert_feed_forward_length", .config = "moe_intermediate_size"},
                        {.key = "expert_shared_feed_forward_length", .config = "shared_expert_intermediate_size"},
                        {.key = "ssm.conv_kernel", .config = "linear_conv_kernel_dim"},
                        {.key = "ssm.state_size", .config = "linear_key_head_dim"},
                        {.key = "ssm.group_count", .config = "linear_num_key_heads"},
                        {.key = "ssm.time_step_rank", .config = "linear_num_value_heads"},
                        {.key = "ssm.inner_size", .config = "linear_values"},
                        {.key = "full_attention_interval",
                         .config = "full_attention_interval",
                         .otherwise = [](const GgufKeys&) { return 4.0; }},
                        {.config = "norm_topk_prob", .kind = Kind::implied, .implied = [](const Config&) { return std::string("true"); }}},
               .names = names,
               .stacks = {std::begin(gguf_expert_stacks), std::end(gguf_expert_stacks)},
               .plus_one = all_norms,
               .check = check_partial_heads},
          .geometries = geometries,
          .present = present,
      }),
  };
}

}  // namespace hearth::models::qwen3_next
