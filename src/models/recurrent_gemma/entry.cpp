#include "models/decoder_family.h"
#include "models/recurrent_gemma/config.h"

namespace hearth::models::recurrent_gemma {
namespace {

constexpr LanguageSize sizes[] = {
    {"vocab_size", "model.embed_tokens.weight", 0},
    {"hidden_size", "model.embed_tokens.weight", 1},
    {"num_hidden_layers", "model.layers.#.temporal_pre_norm.weight"},
};

}  // namespace

Entry entry() {
  return {
      .name = "recurrent_gemma",
      .summary = "RecurrentGemma (Griffin): text to text, a gated linear recurrence in two of three layers, windows in the others",
      .task = decoder_family<read_config>({
          .model_types = {"recurrent_gemma"},
          .class_name = "RecurrentGemmaForCausalLM",
          .tokenizer_class = "GemmaTokenizer",
          .sizes = sizes,
          .present = present,
      }),
  };
}

}  // namespace hearth::models::recurrent_gemma
