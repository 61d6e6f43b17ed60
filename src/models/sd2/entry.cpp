#include "core/error.h"
#include "models/sd2/files.h"
#include "models/stable_diffusion/pipeline.h"

namespace hearth::models::sd2 {
namespace {

using namespace stable_diffusion;

const Family family{
    .name = "sd2",
    .towers =
        {{.encoder = "text_encoder", .tokenizer = "tokenizer", .class_name = "CLIPTextModel", .embedding = "clip_h", .open_clip = true}},
    .mends_files = true,
};

// Its UNet is the one whose transformers have matrices as projections.
bool claims(const Checkpoint& checkpoint) {
  try {
    return checkpoint.has("unet") && checkpoint.config("unet").boolean("use_linear_projection", false);
  } catch (const Error&) { return false; }  // sd1 says what is wrong with it
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
  };
}

}  // namespace hearth::models::sd2
