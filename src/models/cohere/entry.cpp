#include "models/cohere/config.h"
#include "models/decoder_family.h"

namespace hearth::models::cohere {

Entry entry() {
  using Kind = GgufKey::Kind;
  return {
      .name = "cohere",
      .summary = "Command R, R+ and Aya 23: text to text, attention and MLP side by side, layer norms without bias",
      .task = decoder_family<read_config>({
          .model_types = {"cohere"},
          .class_name = "CohereForCausalLM",
          .tokenizer_class = "CohereTokenizer",
          .gguf = {.name = "command-r",
                   .keys = {gguf_attention_bias,
                            {.config = "use_qk_norm", .kind = Kind::present, .tensor = "blk.0.attn_q_norm.weight"},
                            gguf_logit_scale,
                            gguf_layer_norm_eps,
                            gguf_no_rms_norm}},
      }),
  };
}

}  // namespace hearth::models::cohere
