#include "models/registry.h"
#include "models/sana/controlnet_files.h"
#include "models/sana/files.h"
#include "models/sana/model.h"
#include "models/sana/options.h"

namespace hearth::models::sana {

Entry entry() {
  return {
      .name = family_name,
      .summary = "SANA, SANA 1.5, SANA-Sprint: text to image, a language model as text encoder, linear transformer, AutoencoderDC",
      .task =
          ImageFamily{
              .pipelines = {"SanaPipeline", "SanaSprintPipeline", "SanaSprintImg2ImgPipeline"},
              .files = &files,
              .controls = control_places(),
              .options = {options.begin(), options.end()},
              .benchmarks = {Benchmark{"sana-1600m", "sana-1600m-1024"}, Benchmark{"sana-600m", "sana-600m-1024"},
                             Benchmark{"sana-1600m-2048"}, Benchmark{"sana-1600m-4096"}, Benchmark{"sana1.5-1600m"},
                             Benchmark{"sana1.5-4800m"}, Benchmark{"sana-sprint-600m"}, Benchmark{"sana-sprint-1600m"}},
              .describe = [](const Checkpoint& c) -> std::unique_ptr<diffusion::LatentModel> { return std::make_unique<Sana>(c); },
              .check = check,
              .prompt_readers = prompt_readers,
              .scheduler = scheduler_of,
          },
      .title = "SANA",
  };
}

}  // namespace hearth::models::sana
