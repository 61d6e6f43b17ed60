#include "models/decoder_family.h"
#include "models/zamba2/config.h"

namespace hearth::models::zamba2 {

// llama.cpp has no architecture for it.
Entry entry() {
  return {
      .name = "zamba2",
      .summary = "Zamba 2: text to text, state spaces, and transformers that several layers share",
      .task =
          decoder_family<read_config>({.model_types = {"zamba2"}, .class_name = "Zamba2ForCausalLM", .tokenizer_class = "LlamaTokenizer"}),
  };
}

}  // namespace hearth::models::zamba2
