// Stable Diffusion XL (Podell et al. 2023, arXiv 2307.01952), after diffusers' StableDiffusionXLPipeline and related pipelines, 0.39.0.
#include "core/error.h"
#include "models/clip/options.h"
#include "models/registry.h"
#include "models/sdxl/files.h"
#include "models/stable_diffusion/model.h"
#include "models/stable_diffusion/size_options.h"
#include "models/stable_diffusion/step_tables.h"

namespace hearth::models::sdxl {
namespace {

using namespace stable_diffusion;

// (height, width, crop from the top and left, target height and width). The reference has two rules for the negative prompt: from noise its
// own sizes apply only if both are given, from an image each one that is given.
std::vector<float> sizes(const OptionValues& asked, int64_t width, int64_t height, text::PromptRole role, StartsFrom starts_from) {
  const auto given = [&](const Option& option) { return option_of<Pair>(asked, option.name); };
  const auto numbers = [](const Pair& original, const Pair& corner, const Pair& target) {
    return std::vector<float>{float(original[1]), float(original[0]), float(corner[1]),
                              float(corner[0]),   float(target[1]),   float(target[0])};
  };
  const Pair own = {width, height}, original = given(original_size).value_or(own), target = given(target_size).value_or(own);
  const Pair corner = given(crop).value_or(Pair{});
  const auto negative_original = given(negative_original_size), negative_corner = given(negative_crop),
             negative_target = given(negative_target_size);
  if (role == text::PromptRole::negative && starts_from == StartsFrom::image)
    return numbers(negative_original.value_or(original), negative_corner.value_or(corner), negative_target.value_or(target));
  const bool negative = negative_original || negative_target || negative_corner;
  if (starts_from == StartsFrom::noise && negative && !(negative_original && negative_target))
    fail<UsageError>("generate: only one size for the negative prompt, expected both its original and its target size");
  if (role == text::PromptRole::negative && negative)
    return numbers(*negative_original, negative_corner.value_or(Pair{}), *negative_target);
  return numbers(original, corner, target);
}

void read_index(const Config& index, StableDiffusionConfig& config) {
  config.zeros_for_no_negative = index.boolean("force_zeros_for_empty_prompt", true);
  config.input_image_is_scaled = index.boolean("is_cosxl_edit", false);
  index.only("requires_aesthetics_score", false);
  index.no_effect({"add_watermarker"});
}

const Family family{
    .name = "sdxl",
    .towers = {{.encoder = "text_encoder", .tokenizer = "tokenizer", .class_name = "CLIPTextModel", .embedding = "clip_l"},
               {.encoder = "text_encoder_2",
                .tokenizer = "tokenizer_2",
                .class_name = "CLIPTextModelWithProjection",
                .embedding = "clip_g",
                .open_clip = true}},
    .options = {clip::prompt_2, clip::negative_prompt_2, clip::clip_skip_option("2"), clip::clip_skip_2, original_size, crop, target_size,
                negative_original_size, negative_crop, negative_target_size},
    .benchmarks = {"sdxl"},
    .clip_skip = 2,
    .final_norm = false,
    .sizes = sizes,
    .latent_statistics = true,
    .reference_strengths = {.image = 0.3, .mask = 0.9999},
    .step_tables = large_image_tables,
    .can_be_refined = true,
    .read_index = read_index,
};

}  // namespace

Entry entry() {
  return {
      .name = family.name,
      .summary = "Stable Diffusion XL, its pruned and distilled forms: text to image, two CLIP text encoders, UNet, AutoencoderKL",
      .task = task_of<family>(files, {"StableDiffusionXLPipeline", "StableDiffusionXLImg2ImgPipeline", "StableDiffusionXLInpaintPipeline",
                                      "StableDiffusionXLInstructPix2PixPipeline"}),
      .title = "Stable Diffusion XL",
  };
}

}  // namespace hearth::models::sdxl
