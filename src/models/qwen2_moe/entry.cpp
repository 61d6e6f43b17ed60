#include "models/decoder_family.h"
#include "models/qwen2_moe/config.h"

namespace hearth::models::qwen2_moe {

Entry entry() {
  using Kind = GgufKey::Kind;
  std::vector<Alias> names(std::begin(gguf_expert_names), std::end(gguf_expert_names));
  names.insert(names.end(), {{"blk.#.ffn_gate_inp_shexp.*", "model.layers.#.mlp.shared_expert_gate.*"},
                             {"blk.#.ffn_gate_shexp.*", "model.layers.#.mlp.shared_expert.gate_proj.*"},
                             {"blk.#.ffn_up_shexp.*", "model.layers.#.mlp.shared_expert.up_proj.*"},
                             {"blk.#.ffn_down_shexp.*", "model.layers.#.mlp.shared_expert.down_proj.*"}});
  return {
      .name = "qwen2_moe",
      .summary = "Qwen 1.5 and 2 with experts: text to text, some experts of many and a shared one for each token",
      .task = decoder_family<read_config>({
          .model_types = {"qwen2_moe"},
          .class_name = "Qwen2MoeForCausalLM",
          .tokenizer_class = "Qwen2Tokenizer",
          .experts = LanguageSize{"num_experts", "model.layers.#.mlp.gate.weight", 0},
          .gguf =
              {.name = "qwen2moe",
               .keys = {{.key = "expert_count", .config = "num_experts"},
                        {.key = "expert_used_count", .config = "num_experts_per_tok"},
                        {.key = "expert_feed_forward_length", .config = "moe_intermediate_size"},
                        {.key = "expert_shared_feed_forward_length", .config = "shared_expert_intermediate_size"},
                        {.config = "norm_topk_prob", .kind = Kind::implied, .implied = [](const Config&) { return std::string("false"); }}},
               .names = names,
               .stacks = {std::begin(gguf_expert_stacks), std::end(gguf_expert_stacks)}},
      }),
  };
}

}  // namespace hearth::models::qwen2_moe
