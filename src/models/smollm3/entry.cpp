#include "models/decoder_family.h"
#include "models/smollm3/config.h"

namespace hearth::models::smollm3 {

Entry entry() {
  using Kind = GgufKey::Kind;
  return {
      .name = "smollm3",
      .summary = "SmolLM3: text to text, every fourth layer without positions",
      .task = decoder_family<read_config>({
          .model_types = {"smollm3"},
          .class_name = "SmolLM3ForCausalLM",
          .gguf = {.name = "smollm3",
                   .keys = {gguf_attention_bias,
                            gguf_mlp_bias,
                            {.config = "no_rope_layer_interval",
                             .kind = Kind::implied,
                             .implied = [](const Config&) { return std::string("4"); }}},
                   .neighbors = queries_and_keys},
      }),
  };
}

}  // namespace hearth::models::smollm3
