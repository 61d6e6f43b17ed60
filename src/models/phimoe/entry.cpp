#include "models/decoder_family.h"
#include "models/phimoe/config.h"

namespace hearth::models::phimoe {

Entry entry() {
  using Kind = GgufKey::Kind;
  return {
      .name = "phimoe",
      .summary = "Phi 3.5 MoE: text to text, two experts of 16 for each token, layer norms, two lists of rotary factors",
      .task = decoder_family<read_config>({
          .model_types = {"phimoe"},
          .class_name = "PhimoeForCausalLM",
          .tokenizer_class = "LlamaTokenizer",
          .experts = LanguageSize{"num_local_experts", "model.layers.#.block_sparse_moe.gate.weight", 0},
          .gguf = {.name = "phimoe",
                   .keys = {gguf_attention_bias,
                            gguf_window_or_none,
                            {.config = "lm_head_bias", .kind = Kind::present, .tensor = "output.bias"},
                            {.key = "expert_count", .config = "num_local_experts"},
                            {.key = "expert_used_count", .config = "num_experts_per_tok"},
                            gguf_longrope[0],
                            gguf_longrope[1],
                            gguf_longrope[2],
                            gguf_longrope[3],
                            gguf_longrope[4],
                            gguf_longrope[5]},
                   .names = {{"output_norm.*", "model.norm.*"},
                             {"output.*", "lm_head.*"},
                             {"blk.#.ffn_gate_inp.*", "model.layers.#.block_sparse_moe.gate.*"}},
                   .stacks = {{"blk.#.ffn_gate_exps.weight", "model.layers.#.block_sparse_moe.experts.#.w1.weight"},
                              {"blk.#.ffn_up_exps.weight", "model.layers.#.block_sparse_moe.experts.#.w3.weight"},
                              {"blk.#.ffn_down_exps.weight", "model.layers.#.block_sparse_moe.experts.#.w2.weight"}}},
      }),
  };
}

}  // namespace hearth::models::phimoe
