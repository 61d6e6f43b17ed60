#include "models/decoder_family.h"
#include "models/stablelm/config.h"

namespace hearth::models::stablelm {

Entry entry() {
  using Kind = GgufKey::Kind;
  return {
      .name = "stablelm",
      .summary = "StableLM 2, StableLM 3B, Zephyr: text to text, layer norms, a quarter of each head rotated",
      .task = decoder_family<read_config>({
          .model_types = {"stablelm", "stablelm_epoch"},
          .class_name = "StableLmForCausalLM",
          .tokenizer_class = "GPTNeoXTokenizer",
          .gguf = {.name = "stablelm",
                   .keys = {{.config = "use_qkv_bias", .kind = Kind::present, .tensor = "blk.0.attn_q.bias"},
                            {.config = "qk_layernorm", .kind = Kind::present, .tensor = "blk.0.attn_q_norm.weight"},
                            // The converter writes true if config.json has no such key, which means false.
                            {.key = "use_parallel_residual", .kind = Kind::nothing},
                            {.config = "use_parallel_residual", .kind = Kind::lacking, .tensor = "blk.0.ffn_norm.weight"},
                            gguf_layer_norm_eps,
                            gguf_no_rms_norm,
                            gguf_rotary_dimension},
                   .names = {{"output_norm.*", "model.norm.*"}},
                   .stacks = {{"blk.#.attn_q_norm.weight", "model.layers.#.self_attn.q_layernorm.norms.#.weight"},
                              {"blk.#.attn_k_norm.weight", "model.layers.#.self_attn.k_layernorm.norms.#.weight"}},
                   .check = check_partial_heads},
      }),
  };
}

}  // namespace hearth::models::stablelm
