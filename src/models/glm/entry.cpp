#include "models/decoder_family.h"
#include "models/glm/config.h"

namespace hearth::models::glm {

Entry entry() {
  using Kind = GgufKey::Kind;
  return {
      .name = "glm",
      .summary = "GLM-4: text to text, half of each head rotated, fused gates",
      .task = decoder_family<read_config>({
          .model_types = {"glm"},
          .class_name = "GlmForCausalLM",
          // The older checkpoints of ChatGLM's own code have one matrix of queries, keys and values, and so do files made of them.
          .gguf = {.name = "chatglm",
                   .keys = {gguf_attention_bias,
                            {.config = "fused_qkv", .kind = Kind::present, .tensor = "blk.0.attn_qkv.weight"},
                            {.config = "fused_qkv_bias", .kind = Kind::present, .tensor = "blk.0.attn_qkv.bias"},
                            gguf_rotary_dimension},
                   .names = {{"blk.#.attn_qkv.*", "model.layers.#.self_attn.qkv_proj.*"},
                             {"blk.#.ffn_up.*", "model.layers.#.mlp.gate_up_proj.*"}},
                   .check = check_partial_heads},
      }),
  };
}

}  // namespace hearth::models::glm
