// FLUX.2 (Black Forest Labs 2025), after diffusers' Flux2Pipeline and Flux2KleinPipeline, 0.39.0.
#include "models/flux2/files.h"
#include "models/flux2/model.h"
#include "models/flux2/options.h"
#include "models/registry.h"

namespace hearth::models::flux2 {

Entry entry() {
  return {
      .name = family_name,
      .summary = "FLUX.2 dev and klein: text to image, references, a language model as text encoder, transformer, own autoencoder",
      .task =
          ImageFamily{
              .pipelines = {"Flux2Pipeline", "Flux2KleinPipeline"},
              .files = &files,
              .options = {options.begin(), options.end()},
              .benchmarks = {Benchmark{"flux2-klein-4b"}},
              .describe = [](const Checkpoint& c) -> std::unique_ptr<diffusion::LatentModel> { return std::make_unique<Flux2>(c); },
              .check = check,
              .prompt_readers = prompt_readers,
              .scheduler = scheduler_of,
          },
      .title = "FLUX.2",
  };
}

}  // namespace hearth::models::flux2
