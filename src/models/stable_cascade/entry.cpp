#include "models/registry.h"
#include "models/stable_cascade/files.h"
#include "models/stable_cascade/model.h"

namespace hearth::models::stable_cascade {

Entry entry() {
  return {
      .name = family_name,
      .summary = "Stable Cascade: text and image prompts, two UNets one after the other (prior, decoder), VQGAN",
      .task =
          ImageFamily{
              .pipelines = {"StableCascadeDecoderPipeline", "StableCascadeCombinedPipeline", "StableCascadePriorPipeline"},
              .files = &files,
              .options = {options().begin(), options().end()},
              .benchmarks = {"stable-cascade", "stable-cascade-lite"},
              .describe = [](const Checkpoint& c) -> std::unique_ptr<diffusion::LatentModel> { return std::make_unique<StableCascade>(c); },
              .check = check,
              .prompt_readers = prompt_readers,
              .scheduler = scheduler_of,
          },
      .title = "Stable Cascade",
  };
}

}  // namespace hearth::models::stable_cascade
