#include "models/decoder_family.h"
#include "models/gemma2/config.h"

namespace hearth::models::gemma2 {

Entry entry() {
  return {
      .name = "gemma2",
      .summary = "Gemma 2: text to text, soft-capped scores and logits, every other layer with a window",
      .task = decoder_family<read_config>({
          .model_types = {"gemma2"},
          .class_name = "Gemma2ForCausalLM",
          .tokenizer_class = "GemmaTokenizer",
          .gguf = {.name = "gemma2",
                   .keys = {gguf_attention_bias,
                            gguf_score_cap,
                            gguf_logit_cap,
                            gguf_window,
                            {.config = "query_pre_attn_scalar", .kind = GgufKey::Kind::implied, .implied = score_divisor<46>}},
                   .names = {std::begin(sandwich_names), std::end(sandwich_names)},
                   .plus_one = all_norms},
      }),
  };
}

}  // namespace hearth::models::gemma2
