// Qwen-Image and Qwen-Image-Edit (Qwen 2025), after diffusers' QwenImagePipeline and its relatives, 0.39.0.
#include "models/qwen_image/controlnet_files.h"
#include "models/qwen_image/files.h"
#include "models/qwen_image/model.h"
#include "models/qwen_image/options.h"
#include "models/registry.h"

namespace hearth::models::qwen_image {

Entry entry() {
  return {
      .name = family_name,
      .summary = "Qwen-Image and -Edit: text to image, edits, Qwen 2.5 VL as text encoder, two-stream transformer, own autoencoder",
      .task =
          ImageFamily{
              .pipelines = {"QwenImagePipeline", "QwenImageImg2ImgPipeline", "QwenImageInpaintPipeline", "QwenImageEditPipeline",
                            "QwenImageEditPlusPipeline"},
              .files = &files,
              .controls = control_places(),
              .options = {options.begin(), options.end()},
              .benchmarks = {Benchmark{"qwen-image-20b"}},
              .describe = [](const Checkpoint& c) -> std::unique_ptr<diffusion::LatentModel> { return std::make_unique<QwenImage>(c); },
              .check = check,
              .prompt_readers = prompt_readers,
              .scheduler = scheduler_of,
          },
      .title = "Qwen-Image",
  };
}

}  // namespace hearth::models::qwen_image
