#include "core/error.h"
#include "models/sdxl_refiner/family.h"
#include "models/sdxl_refiner/files.h"
#include "models/stable_diffusion/pipeline.h"

namespace hearth::models::sdxl_refiner {

using namespace stable_diffusion;

namespace {

// (height, width, crop from the top and left, aesthetic score)
std::vector<float> sizes(const SizeConditions& asked, int64_t width, int64_t height, text::PromptRole role, Begins) {
  using Pair = SizeConditions::Pair;
  if (asked.target_size || asked.negative_target_size) fail<UsageError>("generate: a target size, but a refiner is told none");
  const bool negative = role == text::PromptRole::negative;
  const Pair of_prompt = asked.original_size.value_or(Pair{width, height});
  const Pair original = negative ? asked.negative_original_size.value_or(of_prompt) : of_prompt;
  const Pair crop = (negative ? asked.negative_crop : asked.crop).value_or(Pair{});
  const double score = negative ? asked.negative_aesthetic_score.value_or(2.5) : asked.aesthetic_score.value_or(6);
  return {float(original[1]), float(original[0]), float(crop[1]), float(crop[0]), float(score)};
}

bool claims(const Checkpoint& checkpoint) { return !checkpoint.has("text_encoder") && checkpoint.has("text_encoder_2"); }

}  // namespace

const Family family{
    .name = "sdxl_refiner",
    .towers = {{.encoder = "text_encoder_2",
                .tokenizer = "tokenizer_2",
                .class_name = "CLIPTextModelWithProjection",
                .embedding = "clip_g",
                .open_clip = true}},
    .clip_skip = 2,
    .final_norm = false,
    .sizes = sizes,
    .scores = true,
    .latent_statistics = true,
    .strengths = {.image = 0.3},  // it was made for the last steps
    .reference_strengths = {.image = 0.3, .mask = 0.9999},
    .read_index =
        [](const Config& index, StableDiffusionConfig& config) {
          config.zeros_for_no_negative = index.boolean("force_zeros_for_empty_prompt", true);
          index.only("requires_aesthetics_score", true);
          index.no_effect({"add_watermarker"});
        },
};

Entry entry() {
  return {
      .name = family.name,
      .summary = "The refiner of Stable Diffusion XL: the last steps of a picture, told how beautiful it is to be",
      .task = task_of<family>(files, {"StableDiffusionXLImg2ImgPipeline", "StableDiffusionXLPipeline", "StableDiffusionXLInpaintPipeline"},
                              claims),
  };
}

}  // namespace hearth::models::sdxl_refiner
