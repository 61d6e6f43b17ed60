#include "models/decoder_family.h"
#include "models/qwen3_moe/config.h"

namespace hearth::models::qwen3_moe {

// Qwen 3 30B-A3B with an eighth of its layers.
constexpr LanguageGeometry geometries[] = {
    {"qwen-moe-4b",
     R"({"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 6, "num_attention_heads": 32,
     "num_key_value_heads": 4, "head_dim": 128, "max_position_embeddings": 40960, "rope_theta": 1000000.0, "num_experts": 128,
     "num_experts_per_tok": 8, "moe_intermediate_size": 768, "norm_topk_prob": true, "tie_word_embeddings": false})"}};

Entry entry() {
  using Kind = GgufKey::Kind;
  return {
      .name = "qwen3_moe",
      .summary = "Qwen 3 with experts: text to text, eight experts of 128 for each token, norms of queries and keys",
      .task = decoder_family<read_config>({
          .model_types = {"qwen3_moe"},
          .class_name = "Qwen3MoeForCausalLM",
          .tokenizer_class = "Qwen2Tokenizer",
          .experts = LanguageSize{"num_experts", "model.layers.#.mlp.gate.weight", 0},
          .gguf =
              {.name = "qwen3moe",
               .keys = {gguf_attention_bias,
                        {.key = "expert_count", .config = "num_experts"},
                        {.key = "expert_used_count", .config = "num_experts_per_tok"},
                        {.key = "expert_feed_forward_length", .config = "moe_intermediate_size"},
                        {.config = "norm_topk_prob", .kind = Kind::implied, .implied = [](const Config&) { return std::string("true"); }}},
               .names = {std::begin(gguf_expert_names), std::end(gguf_expert_names)},
               .stacks = {std::begin(gguf_expert_stacks), std::end(gguf_expert_stacks)}},
          .geometries = geometries,
      }),
  };
}

}  // namespace hearth::models::qwen3_moe
