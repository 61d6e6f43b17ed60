#include "models/decoder_family.h"
#include "models/olmo2/config.h"

namespace hearth::models::olmo2 {

Entry entry() {
  return {
      .name = "olmo2",
      .summary = "OLMo 2: text to text, norms behind attention and MLP, norms over all queries and keys",
      .task = decoder_family<read_config>({
          .model_types = {"olmo2"},
          .class_name = "Olmo2ForCausalLM",
          .tokenizer_class = "GPTNeoXTokenizer",
          .gguf = {.name = "olmo2",
                   .keys = {gguf_attention_bias},
                   .names = {{"blk.#.post_attention_norm.*", "model.layers.#.post_attention_layernorm.*"},
                             {"blk.#.post_ffw_norm.*", "model.layers.#.post_feedforward_layernorm.*"}}},
      }),
  };
}

}  // namespace hearth::models::olmo2
