#include "core/error.h"
#include "models/clip/options.h"
#include "models/registry.h"
#include "models/sd2/files.h"
#include "models/stable_diffusion/model.h"

namespace hearth::models::sd2 {
namespace {

using namespace stable_diffusion;

const Family family{
    .name = "sd2",
    .towers =
        {{.encoder = "text_encoder", .tokenizer = "tokenizer", .class_name = "CLIPTextModel", .embedding = "clip_h", .open_clip = true}},
    .options = {clip::clip_skip_option("1")},
    .edits_configs = true,
};

// Identified by its UNet, whose transformers have matrices as projections.
bool claims(const Checkpoint& checkpoint) {
  try {
    return checkpoint.has("unet") && checkpoint.config("unet").boolean("use_linear_projection", false);
  } catch (const Error&) { return false; }  // the family that accepts all others reports the error
}

}  // namespace

Entry entry() {
  return {
      .name = family.name,
      .summary = "Stable Diffusion 2.x, 512 and 768: text to image, OpenCLIP text encoder, UNet, AutoencoderKL",
      .task = task_of<family>(files,
                              {"StableDiffusionPipeline", "StableDiffusionImg2ImgPipeline", "StableDiffusionInpaintPipeline",
                               "StableDiffusionInstructPix2PixPipeline", "StableDiffusionDepth2ImgPipeline"},
                              claims),
      .title = "Stable Diffusion 2",
  };
}

}  // namespace hearth::models::sd2
