// Z-Image (Alibaba 2025), after diffusers' ZImagePipeline and its relatives, 0.39.0.
#include "models/registry.h"
#include "models/z_image/controlnet_files.h"
#include "models/z_image/files.h"
#include "models/z_image/model.h"
#include "models/z_image/options.h"

namespace hearth::models::z_image {

Entry entry() {
  return {
      .name = family_name,
      .summary = "Z-Image and Z-Image-Turbo: text to image, a language model as text encoder, transformer, AutoencoderKL",
      .task =
          ImageFamily{
              .pipelines = {"ZImagePipeline", "ZImageImg2ImgPipeline", "ZImageInpaintPipeline"},
              .files = &files,
              .controls = control_places(),
              .options = {options.begin(), options.end()},
              .benchmarks = {Benchmark{"z-image-turbo"}},
              .describe = [](const Checkpoint& c) -> std::unique_ptr<diffusion::LatentModel> { return std::make_unique<ZImage>(c); },
              .check = check,
              .prompt_readers = prompt_readers,
              .scheduler = scheduler_of,
          },
      .title = "Z-Image",
  };
}

}  // namespace hearth::models::z_image
