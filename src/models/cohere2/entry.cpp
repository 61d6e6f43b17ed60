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
                            gguf_logit_scale,
                            {.key = "attention.sliding_window", .config = "sliding_window"},
                            {.config = "sliding_window_pattern",
                             .kind = Kind::implied,
                             .implied = [](const Config&) { return std::string("4"); }},
                            gguf_layer_norm_eps,
                            gguf_no_rms_norm}},
      }),
  };
}

}  // namespace hearth::models::cohere2
