#include "models/decoder_family.h"
#include "models/qwen3/config.h"

namespace hearth::models::qwen3 {

Entry entry() {
  return {
      .name = "qwen3",
      .summary = "Qwen 3 (dense) and models of the same architecture: text to text, norms of queries and keys",
      .task = decoder_family<read_config>({
          .model_types = {"qwen3"},
          .class_name = "Qwen3ForCausalLM",
          .tokenizer_class = "Qwen2Tokenizer",
          .gguf = {.name = "qwen3", .keys = {gguf_attention_bias}},
      }),
  };
}

}  // namespace hearth::models::qwen3
