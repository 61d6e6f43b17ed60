#include "models/decoder_family.h"
#include "models/gemma3/config.h"

namespace hearth::models::gemma3 {
namespace {

std::string local_base(const Config&) { return "10000"; }

}  // namespace

Entry entry() {
  using Kind = GgufKey::Kind;
  return {
      .name = "gemma3",
      .summary = "Gemma 3 (text): text to text, norms of queries and keys, five layers with a window for one without",
      .task = decoder_family<read_config>({
          .model_types = {"gemma3_text"},
          .class_name = "Gemma3ForCausalLM",
          .tokenizer_class = "GemmaTokenizer",
          .gguf = {.name = "gemma3",
                   .keys = {gguf_attention_bias,
                            gguf_logit_cap,
                            gguf_window,
                            {.config = "query_pre_attn_scalar", .kind = Kind::implied, .implied = score_divisor<62>},
                            {.config = "rope_local_base_freq", .kind = Kind::implied, .implied = local_base},
                            {.key = "rope.freq_base",
                             .config = "rope_theta",
                             .kind = Kind::number,
                             .otherwise = [](const GgufKeys&) { return 1e6; }}},
                   .names = {std::begin(sandwich_names), std::end(sandwich_names)},
                   .plus_one = all_norms},
      }),
  };
}

}  // namespace hearth::models::gemma3
