#include "models/decoder_family.h"
#include "models/deepseek/config.h"

namespace hearth::models::deepseek {

Entry entry() {
  using Kind = GgufKey::Kind;
  std::vector<Alias> names(std::begin(gguf_expert_names), std::end(gguf_expert_names));
  names.insert(names.end(), std::begin(gguf_shared_expert_names), std::end(gguf_shared_expert_names));
  return {
      .name = "deepseek",
      .summary = "DeepSeek MoE 16B: text to text, six experts of 64 and two shared ones for each token",
      .task = decoder_family<read_config>({
          .model_types = {"deepseek"},
          .class_name = "DeepseekForCausalLM",
          .tokenizer_class = "LlamaTokenizer",
          .experts = LanguageSize{"n_routed_experts", "model.layers.#.mlp.gate.weight", 0},
          .gguf =
              {.name = "deepseek",
               .keys = {gguf_attention_bias,
                        {.key = "leading_dense_block_count", .config = "first_k_dense_replace"},
                        {.key = "expert_count", .config = "n_routed_experts"},
                        {.key = "expert_used_count", .config = "num_experts_per_tok"},
                        {.key = "expert_shared_count", .config = "n_shared_experts"},
                        {.key = "expert_feed_forward_length", .config = "moe_intermediate_size"},
                        {.key = "expert_weights_scale", .kind = Kind::nothing},
                        {.config = "norm_topk_prob", .kind = Kind::implied, .implied = [](const Config&) { return std::string("false"); }}},
               .names = names,
               .stacks = {std::begin(gguf_expert_stacks), std::end(gguf_expert_stacks)},
               .neighbors = queries_and_keys},
      }),
  };
}

}  // namespace hearth::models::deepseek
