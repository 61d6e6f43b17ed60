#include "models/decoder_family.h"
#include "models/phi3/config.h"

namespace hearth::models::phi3 {

Entry entry() {
  return {
      .name = "phi3",
      .summary = "Phi 3, 3.5 and 4-mini: text to text, fused projections, positions stretched by two lists of factors",
      .task = decoder_family<read_config>({
          .model_types = {"phi3"},
          .class_name = "Phi3ForCausalLM",
          .tokenizer_class = "LlamaTokenizer",
          .gguf = {.name = "phi3",
                   .keys = {gguf_window_or_none, gguf_rotary_dimension, gguf_longrope[0], gguf_longrope[1], gguf_longrope[2],
                            gguf_longrope[3], gguf_longrope[4], gguf_longrope[5]},
                   .names = {{"blk.#.attn_qkv.*", "model.layers.#.self_attn.qkv_proj.*"},
                             {"blk.#.ffn_up.*", "model.layers.#.mlp.gate_up_proj.*"}},
                   .check = check_partial_heads},
      }),
  };
}

}  // namespace hearth::models::phi3
