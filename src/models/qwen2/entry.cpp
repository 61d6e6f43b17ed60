#include "models/decoder_model.h"
#include "models/qwen2/config.h"
#include "models/registry.h"

namespace hearth::models::qwen2 {

Entry entry() {
  return {
      .name = "qwen2",
      .summary = "Qwen 2 and 2.5, and what shares their layout: text to text, Llama's build with biases of queries, keys and values",
      .task =
          LanguageFamily{
              .model_types = {"qwen2"},
              .open = [](const LanguageCheckpoint& checkpoint, Backend& device,
                         const LoadRequest& request) -> std::unique_ptr<LanguageModel> {
                return std::make_unique<DecoderModel>("qwen2", read_config(checkpoint.config()), checkpoint, device, request);
              },
          },
  };
}

}  // namespace hearth::models::qwen2
