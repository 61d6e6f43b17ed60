#include "models/decoder_family.h"
#include "models/mistral/config.h"

namespace hearth::models::mistral {

constexpr std::string_view within[] = {"Mistral3ForConditionalGeneration", "Mistral3Model"};

// The architecture in its GGUF files is llama; the window distinguishes them.
Entry entry() {
  return {
      .name = "mistral",
      .summary = "Mistral 7B, Nemo and models of the same architecture: text to text, attention window",
      .task = decoder_family<read_config>({
          .model_types = {"mistral"},
          .class_name = "MistralForCausalLM",
          .tokenizer_class = "LlamaTokenizer",
          .within = within,
          .gguf = {.name = "llama", .marked_by = gguf_window.key, .keys = {gguf_window}, .neighbors = queries_and_keys},
      }),
  };
}

}  // namespace hearth::models::mistral
