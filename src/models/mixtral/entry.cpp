#include "models/decoder_family.h"
#include "models/mixtral/config.h"

namespace hearth::models::mixtral {

// Mixtral 8x7B with a quarter of its layers and half its width.
constexpr LanguageGeometry geometries[] = {
    {"mixtral-8x1b",
     R"({"vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 7168, "num_hidden_layers": 8, "num_attention_heads": 16,
     "num_key_value_heads": 4, "max_position_embeddings": 32768, "num_local_experts": 8, "num_experts_per_tok": 2})"}};

// The architecture in its GGUF files is llama; the experts distinguish them. Early files have a tensor for each expert.
Entry entry() {
  return {
      .name = "mixtral",
      .summary = "Mixtral 8x7B, 8x22B and models of the same architecture: text to text, two experts of eight for each token",
      .task = decoder_family<read_config>({
          .model_types = {"mixtral"},
          .class_name = "MixtralForCausalLM",
          .tokenizer_class = "LlamaTokenizer",
          .experts = LanguageSize{"num_local_experts", "model.layers.#.block_sparse_moe.gate.weight", 0},
          .gguf = {.name = "llama",
                   .marked_by = "expert_count",
                   .keys = {{.key = "expert_count", .config = "num_local_experts"},
                            {.key = "expert_used_count", .config = "num_experts_per_tok"},
                            gguf_window},
                   .names = {{"blk.#.ffn_gate_inp.*", "model.layers.#.block_sparse_moe.gate.*"},
                             {"blk.#.ffn_gate.#.weight", "model.layers.#.block_sparse_moe.experts.#.w1.weight"},
                             {"blk.#.ffn_up.#.weight", "model.layers.#.block_sparse_moe.experts.#.w3.weight"},
                             {"blk.#.ffn_down.#.weight", "model.layers.#.block_sparse_moe.experts.#.w2.weight"}},
                   .stacks = {{"blk.#.ffn_gate_exps.weight", "model.layers.#.block_sparse_moe.experts.#.w1.weight"},
                              {"blk.#.ffn_up_exps.weight", "model.layers.#.block_sparse_moe.experts.#.w3.weight"},
                              {"blk.#.ffn_down_exps.weight", "model.layers.#.block_sparse_moe.experts.#.w2.weight"}},
                   .neighbors = queries_and_keys},
          .geometries = geometries,
      }),
  };
}

}  // namespace hearth::models::mixtral
