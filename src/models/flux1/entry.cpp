// FLUX.1 (Black Forest Labs 2024), after diffusers' FluxPipeline and related pipelines, 0.39.0.
#include "models/flux1/controlnet_files.h"
#include "models/flux1/files.h"
#include "models/flux1/model.h"
#include "models/flux1/options.h"
#include "models/registry.h"

namespace hearth::models::flux1 {

Entry entry() {
  return {
      .name = family_name,
      .summary = "FLUX.1 dev, schnell, Fill, Canny, Depth, Kontext: text to image, CLIP and T5, transformer, AutoencoderKL",
      .task =
          ImageFamily{
              .pipelines = {"FluxPipeline", "FluxImg2ImgPipeline", "FluxInpaintPipeline", "FluxFillPipeline", "FluxControlPipeline",
                            "FluxControlImg2ImgPipeline", "FluxControlInpaintPipeline", "FluxKontextPipeline",
                            "FluxKontextInpaintPipeline"},
              .files = &files,
              .controls = control_places(),
              .options = {options.begin(), options.end()},
              .benchmarks = {Benchmark{"flux-dev", "flux1-dev"}},
              .describe = [](const Checkpoint& c) -> std::unique_ptr<diffusion::LatentModel> { return std::make_unique<Flux>(c); },
              .check = check,
              .prompt_readers = prompt_readers,
              .scheduler = scheduler_of,
          },
      .title = "FLUX.1",
  };
}

}  // namespace hearth::models::flux1
