#include "weights/gguf_names.h"

namespace hearth {

std::span<const Alias> gguf_decoder_names() {
  static constexpr Alias names[] = {
      {"token_embd.weight", "model.embed_tokens.weight"},
      {"output_norm.weight", "model.norm.weight"},
      {"output.weight", "lm_head.weight"},
      {"blk.#.attn_norm.*", "model.layers.#.input_layernorm.*"},
      {"blk.#.attn_q.*", "model.layers.#.self_attn.q_proj.*"},
      {"blk.#.attn_k.*", "model.layers.#.self_attn.k_proj.*"},
      {"blk.#.attn_v.*", "model.layers.#.self_attn.v_proj.*"},
      {"blk.#.attn_output.*", "model.layers.#.self_attn.o_proj.*"},
      {"blk.#.attn_q_norm.*", "model.layers.#.self_attn.q_norm.*"},
      {"blk.#.attn_k_norm.*", "model.layers.#.self_attn.k_norm.*"},
      {"blk.#.ffn_norm.*", "model.layers.#.post_attention_layernorm.*"},
      {"blk.#.ffn_gate.*", "model.layers.#.mlp.gate_proj.*"},
      {"blk.#.ffn_up.*", "model.layers.#.mlp.up_proj.*"},
      {"blk.#.ffn_down.*", "model.layers.#.mlp.down_proj.*"},
  };
  return names;
}

}  // namespace hearth
