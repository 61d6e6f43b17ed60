#include "models/decoder_model.h"
#include "models/llama/config.h"
#include "models/registry.h"

namespace hearth::models::llama {

Entry entry() {
  return {
      .name = "llama",
      .summary = "LLaMA 1, 2, 3, 3.1, 3.2, 3.3 and what shares their layout: text to text, grouped queries, rotary positions, SwiGLU",
      .task =
          LanguageFamily{
              .model_types = {"llama"},
              .open = [](const LanguageCheckpoint& checkpoint, Backend& device,
                         const LoadRequest& request) -> std::unique_ptr<LanguageModel> {
                return std::make_unique<DecoderModel>("llama", read_config(checkpoint.config()), checkpoint, device, request);
              },
          },
  };
}

}  // namespace hearth::models::llama
