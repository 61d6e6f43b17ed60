#include "models/cohere2/config.h"
#include "models/decoder_family.h"

namespace hearth::models::cohere2 {

Entry entry() {
  using Kind = GgufKey::Kind;
  return {
      .name = "cohere2",
      .summary = "Command R7B and Command A: text to text, three layers with a window for one without positions",
      .task = decoder_family<read_config>({
          .model_types = {"cohere2"},
          .class_name = "Cohere2ForCausalLM",
          .tokenizer_class = "CohereTokenizer",
          .gguf = {.name = "cohere2",
                   .keys = {gguf_attention_bias,
                            {.key = "logit_scale", .config = "logit_scale", .kind = Kind::number},
                            {.key = "attention.sliding_window", .config = "sliding_window"},
                            {.config = "sliding_window_pattern",
                             .kind = Kind::implied,
                             .implied = [](const Config&) { return std::string("4"); }},
                            {.key = "attention.layer_norm_epsilon", .config = "layer_norm_eps", .kind = Kind::number},
                            {.key = "attention.layer_norm_rms_epsilon", .kind = Kind::nothing}}},
      }),
  };
}

}  // namespace hearth::models::cohere2
