#include "models/registry.h"
#include "models/sd3/controlnet_files.h"
#include "models/sd3/files.h"
#include "models/sd3/model.h"

namespace hearth::models::sd3 {

Entry entry() {
  return {
      .name = "sd3",
      .summary = "Stable Diffusion 3 and 3.5: text to image, two CLIP text encoders and T5, transformer, AutoencoderKL",
      .task =
          ImageFamily{
              .pipelines = {"StableDiffusion3Pipeline", "StableDiffusion3Img2ImgPipeline", "StableDiffusion3InpaintPipeline"},
              .files = &files,
              .controls = control_places(),
              .options = {options().begin(), options().end()},
              .benchmarks = {"sd3-medium", "sd35-medium", "sd35-large"},
              .describe = [](const Checkpoint& c) -> std::unique_ptr<diffusion::LatentModel> { return std::make_unique<Sd3Model>(c); },
              .check = check,
              .prompt_readers = prompt_readers,
              .scheduler = scheduler_of,
          },
      .title = "Stable Diffusion 3",
  };
}

}  // namespace hearth::models::sd3
