#include "models/sd1/pipeline.h"

namespace hearth::models::sd1 {

Entry entry() {
  return {
      .name = "sd1",
      .summary = "Stable Diffusion 1.x and what shares its layout: text to image, CLIP text encoder, UNet, AutoencoderKL",
      .task =
          TextToImageFamily{
              .pipelines = {"StableDiffusionPipeline"},
              .open = [](const Checkpoint& checkpoint, Backend& device, const LoadRequest& request) -> std::unique_ptr<TextToImage> {
                return std::make_unique<StableDiffusion>(checkpoint, device, request);
              },
              .check = check,
          },
  };
}

}  // namespace hearth::models::sd1
