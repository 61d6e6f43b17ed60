#include "models/decoder_model.h"
#include "models/qwen3/config.h"
#include "models/registry.h"

namespace hearth::models::qwen3 {

Entry entry() {
  return {
      .name = "qwen3",
      .summary = "Qwen 3 (dense), and what shares its layout: text to text, Llama's build with norms of queries and keys",
      .task =
          LanguageFamily{
              .model_types = {"qwen3"},
              .open = [](const LanguageCheckpoint& checkpoint, Backend& device,
                         const LoadRequest& request) -> std::unique_ptr<LanguageModel> {
                return std::make_unique<DecoderModel>("qwen3", read_config(checkpoint.config()), checkpoint, device, request);
              },
          },
  };
}

}  // namespace hearth::models::qwen3
