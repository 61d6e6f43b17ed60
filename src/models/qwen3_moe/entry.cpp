#include "models/decoder_family.h"
#include "models/qwen3_moe/config.h"

namespace hearth::models::qwen3_moe {

Entry entry() {
  using Kind = GgufKey::Kind;
  return {
      .name = "qwen3_moe",
      .summary = "Qwen 3 with experts: text to text, eight experts of 128 for each token, norms of queries and keys",
      .task = decoder_family<read_config>({
          .model_types = {"qwen3_moe"},
          .class_name = "Qwen3MoeForCausalLM",
          .tokenizer_class = "Qwen2Tokenizer",
          .gguf =
              {.name = "qwen3moe",
               .keys = {gguf_attention_bias,
                        {.key = "expert_count", .config = "num_experts"},
                        {.key = "expert_used_count", .config = "num_experts_per_tok"},
                        {.key = "expert_feed_forward_length", .config = "moe_intermediate_size"},
                        {.config = "norm_topk_prob", .kind = Kind::implied, .implied = [](const Config&) { return std::string("true"); }}},
               .names = {std::begin(gguf_expert_names), std::end(gguf_expert_names)},
               .stacks = {std::begin(gguf_expert_stacks), std::end(gguf_expert_stacks)}},
      }),
  };
}

}  // namespace hearth::models::qwen3_moe
