#include "models/decoder_model.h"
#include "models/mistral/config.h"
#include "models/registry.h"

namespace hearth::models::mistral {

Entry entry() {
  return {
      .name = "mistral",
      .summary = "Mistral 7B and Nemo, and what shares their layout: text to text, Llama's build with an attention window",
      .task =
          LanguageFamily{
              .model_types = {"mistral"},
              .open = [](const LanguageCheckpoint& checkpoint, Backend& device,
                         const LoadRequest& request) -> std::unique_ptr<LanguageModel> {
                return std::make_unique<DecoderModel>("mistral", read_config(checkpoint.config()), checkpoint, device, request);
              },
          },
  };
}

}  // namespace hearth::models::mistral
