#include "models/decoder_family.h"
#include "models/glm4/config.h"

namespace hearth::models::glm4 {

Entry entry() {
  return {
      .name = "glm4",
      .summary = "GLM-4-0414: text to text, half of each head rotated, fused gates, norms on both sides of each block",
      .task = decoder_family<read_config>({
          .model_types = {"glm4"},
          .class_name = "Glm4ForCausalLM",
          .gguf = {.name = "glm4",
                   .keys = {gguf_attention_bias, gguf_rotary_dimension},
                   .names = {{"blk.#.post_attention_norm.*", "model.layers.#.post_self_attn_layernorm.*"},
                             {"blk.#.ffn_up.*", "model.layers.#.mlp.gate_up_proj.*"},
                             {"blk.#.post_ffw_norm.*", "model.layers.#.post_mlp_layernorm.*"}},
                   .check = check_partial_heads},
      }),
  };
}

}  // namespace hearth::models::glm4
