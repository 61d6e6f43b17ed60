#include "models/decoder_family.h"
#include "models/qwen2/config.h"

namespace hearth::models::qwen2 {

constexpr std::string_view within[] = {"Qwen2_5_VLForConditionalGeneration", "Qwen2_5_VLModel"};

// Qwen 2.5 0.5B.
constexpr LanguageGeometry geometries[] = {
    {"qwen-0.5b",
     R"({"vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
     "num_attention_heads": 14, "num_key_value_heads": 2, "max_position_embeddings": 32768,
     "rms_norm_eps": 1e-5, "rope_theta": 1000000, "tie_word_embeddings": true})"}};

Entry entry() {
  LanguageFamily own{
      .model_types = {"qwen2", "qwen2_5_vl_text", "qwen2_5_vl"},
      .class_name = "Qwen2ForCausalLM",
      .tokenizer_class = "Qwen2Tokenizer",
      .within = within,
      .gguf = {.name = "qwen2"},
      .geometries = geometries,
  };
  own.other_gguf = {{.name = "qwen2vl", .model_types = {"qwen2_5_vl_text", "qwen2_5_vl"}}};
  return {
      .name = "qwen2",
      .summary = "Qwen 2, 2.5 and models of the same architecture: text to text, biases of queries, keys and values",
      .task = decoder_family<read_config>(std::move(own)),
  };
}

}  // namespace hearth::models::qwen2
