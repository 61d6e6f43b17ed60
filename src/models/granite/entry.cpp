#include "models/decoder_family.h"
#include "models/granite/config.h"

namespace hearth::models::granite {

Entry entry() {
  using Kind = GgufKey::Kind;
  return {
      .name = "granite",
      .summary = "Granite 3 (dense): text to text, multipliers of embeddings, scores, residuals and logits",
      .task = decoder_family<read_config>({
          .model_types = {"granite"},
          .class_name = "GraniteForCausalLM",
          .tokenizer_class = "GPT2Tokenizer",
          .gguf = {.name = "granite",
                   .keys = {gguf_attention_bias,
                            gguf_mlp_bias,
                            {.key = "attention.scale", .config = "attention_multiplier", .kind = Kind::number},
                            {.key = "embedding_scale", .config = "embedding_multiplier", .kind = Kind::number, .optional = true},
                            {.key = "residual_scale", .config = "residual_multiplier", .kind = Kind::number, .optional = true},
                            {.key = "logit_scale", .config = "logits_scaling", .kind = Kind::number, .optional = true}},
                   .neighbors = queries_and_keys},
      }),
  };
}

}  // namespace hearth::models::granite
