#include "models/pixart/files.h"
#include "models/pixart/model.h"
#include "models/registry.h"

namespace hearth::models::pixart {

Entry entry() {
  return {
      .name = family_name,
      .summary = "PixArt-α and PixArt-Σ, with LCM and DMD: text to image, T5, transformer, AutoencoderKL",
      .task =
          ImageFamily{
              .pipelines = {"PixArtAlphaPipeline", "PixArtSigmaPipeline"},
              .files = &files,
              .options = {options().begin(), options().end()},
              .benchmarks = {Benchmark{"pixart-sigma", "pixart-1024-sigma"}, Benchmark{"pixart-alpha", "pixart-1024-alpha"}},
              .describe = [](const Checkpoint& c) -> std::unique_ptr<diffusion::LatentModel> { return std::make_unique<Pixart>(c); },
              .check = check,
              .prompt_readers = prompt_readers,
              .scheduler = scheduler_of,
          },
      .title = "PixArt",
  };
}

}  // namespace hearth::models::pixart
