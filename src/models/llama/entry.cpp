#include "models/decoder_family.h"
#include "models/llama/config.h"

namespace hearth::models::llama {

// Llama 3.2 1B.
constexpr LanguageGeometry geometries[] = {
    {"llama-1b",
     R"({"vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
     "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 32768,
     "rms_norm_eps": 1e-5, "rope_theta": 500000, "tie_word_embeddings": true})"}};

Entry entry() {
  return {
      .name = "llama",
      .summary = "LLaMA 1 to 3.3 and models of the same architecture: text to text, grouped queries, rotary positions, SwiGLU",
      .task = decoder_family<read_config>({
          .model_types = {"llama"},
          .class_name = "LlamaForCausalLM",
          .tokenizer_class = "LlamaTokenizer",
          .gguf = {.name = "llama", .keys = {gguf_attention_bias, gguf_mlp_bias}, .neighbors = queries_and_keys},
          .geometries = geometries,
      }),
  };
}

}  // namespace hearth::models::llama
