#include "models/clip/options.h"
#include "models/registry.h"
#include "models/sd1/files.h"
#include "models/stable_diffusion/model.h"

namespace hearth::models::sd1 {
namespace {

using namespace stable_diffusion;

const Family family{
    .name = "sd1",
    .towers = {{.encoder = "text_encoder", .tokenizer = "tokenizer", .class_name = "CLIPTextModel", .embedding = "clip_l"}},
    .options = {clip::clip_skip_option("1")},
    .benchmarks = {"sd15"},
    .edits_configs = true,
};

}  // namespace

Entry entry() {
  return {
      .name = family.name,
      .summary = "Stable Diffusion 1.x and its fine-tunes: text to image, CLIP text encoder, UNet, AutoencoderKL",
      .task = task_of<family>(files, {"StableDiffusionPipeline", "StableDiffusionImg2ImgPipeline", "StableDiffusionInpaintPipeline",
                                      "StableDiffusionInstructPix2PixPipeline", "StableDiffusionDepth2ImgPipeline"}),
      .title = "Stable Diffusion 1",
  };
}

}  // namespace hearth::models::sd1
