#include "core/error.h"
#include "models/sdxl/files.h"
#include "models/sdxl_refiner/family.h"
#include "models/stable_diffusion/pipeline.h"

namespace hearth::models::sdxl {

using namespace stable_diffusion;

namespace {

// (height, width, crop from the top and left, target height and width). Of a negative prompt the reference has two rules: from noise its
// own only where both of its sizes are given, from a picture each that is given.
std::vector<float> sizes(const SizeConditions& asked, int64_t width, int64_t height, text::PromptRole role, Begins begins) {
  using Pair = SizeConditions::Pair;
  const auto numbers = [](const Pair& original, const Pair& crop, const Pair& target) {
    return std::vector<float>{float(original[1]), float(original[0]), float(crop[1]), float(crop[0]), float(target[1]), float(target[0])};
  };
  const Pair own = {width, height}, original = asked.original_size.value_or(own), target = asked.target_size.value_or(own);
  const Pair crop = asked.crop.value_or(Pair{});
  if (role == text::PromptRole::negative && begins == Begins::with_picture)
    return numbers(asked.negative_original_size.value_or(original), asked.negative_crop.value_or(crop),
                   asked.negative_target_size.value_or(target));
  const bool negative = asked.negative_original_size || asked.negative_target_size || asked.negative_crop;
  if (begins == Begins::with_noise && negative && !(asked.negative_original_size && asked.negative_target_size))
    fail<UsageError>("generate: a size for the negative prompt alone, needed both its original and its target size");
  if (role == text::PromptRole::negative && negative)
    return numbers(*asked.negative_original_size, asked.negative_crop.value_or(Pair{}), *asked.negative_target_size);
  return numbers(original, crop, target);
}

}  // namespace

extern const Family family;  // another base may refine, too

const Family family{
    .name = "sdxl",
    .towers = {{.encoder = "text_encoder", .tokenizer = "tokenizer", .class_name = "CLIPTextModel", .embedding = "clip_l"},
               {.encoder = "text_encoder_2",
                .tokenizer = "tokenizer_2",
                .class_name = "CLIPTextModelWithProjection",
                .embedding = "clip_g",
                .open_clip = true}},
    .clip_skip = 2,
    .final_norm = false,
    .sizes = sizes,
    .latent_statistics = true,
    .reference_strengths = {.image = 0.3, .mask = 0.9999},
    .refined_by = [](const Checkpoint& refiner) { return refiner.has("text_encoder") ? &family : &sdxl_refiner::family; },
    .read_index =
        [](const Config& index, StableDiffusionConfig& config) {
          config.zeros_for_no_negative = index.boolean("force_zeros_for_empty_prompt", true);
          config.told_picture_is_scaled = index.boolean("is_cosxl_edit", false);
          index.only("requires_aesthetics_score", false);
          index.no_effect({"add_watermarker"});
        },
};

Entry entry() {
  return {
      .name = family.name,
      .summary = "Stable Diffusion XL, its pruned and distilled forms: text to image, two CLIP text encoders, UNet, AutoencoderKL",
      .task = task_of<family>(files, {"StableDiffusionXLPipeline", "StableDiffusionXLImg2ImgPipeline", "StableDiffusionXLInpaintPipeline",
                                      "StableDiffusionXLInstructPix2PixPipeline"}),
  };
}

}  // namespace hearth::models::sdxl
