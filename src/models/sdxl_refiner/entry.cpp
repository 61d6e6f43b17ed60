// The refiner of Stable Diffusion XL (Podell et al. 2023, arXiv 2307.01952, §2.5), after diffusers' StableDiffusionXLImg2ImgPipeline,
// 0.39.0.
#include "models/clip/options.h"
#include "models/registry.h"
#include "models/sdxl_refiner/files.h"
#include "models/stable_diffusion/model.h"
#include "models/stable_diffusion/size_options.h"
#include "models/stable_diffusion/step_tables.h"

namespace hearth::models::sdxl_refiner {
namespace {

using namespace stable_diffusion;

constexpr Option score_option(std::string_view name, std::string_view summary, std::string_view standard) {
  return {.name = name, .type = Option::Type::number, .summary = summary, .standard = standard, .group = "size_conditions"};
}
constexpr Option aesthetic_score = score_option("aesthetic_score", "Aesthetic score that the refiner is conditioned on, 1 to 10", "6");
constexpr Option negative_aesthetic_score = score_option("negative_aesthetic_score", "Aesthetic score of the negative prompt", "2.5");

// (height, width, crop from the top and left, aesthetic score)
std::vector<float> sizes(const OptionValues& given_options, int64_t width, int64_t height, text::PromptRole role, StartsFrom) {
  const auto pair = [&](const Option& option) { return option_of<Pair>(given_options, option.name); };
  const bool negative = role == text::PromptRole::negative;
  const Pair of_prompt = pair(original_size).value_or(Pair{width, height});
  const Pair original = negative ? pair(negative_original_size).value_or(of_prompt) : of_prompt;
  const Pair corner = pair(negative ? negative_crop : crop).value_or(Pair{});
  const double score = negative ? option_of<double>(given_options, negative_aesthetic_score.name).value_or(2.5)
                                : option_of<double>(given_options, aesthetic_score.name).value_or(6);
  return {float(original[1]), float(original[0]), float(corner[1]), float(corner[0]), float(score)};
}

void read_index(const Config& index, StableDiffusionConfig& config) {
  config.zeros_for_no_negative = index.boolean("force_zeros_for_empty_prompt", true);
  index.only("requires_aesthetics_score", true);
  index.no_effect({"add_watermarker"});
}

bool claims(const Checkpoint& checkpoint) { return !checkpoint.has("text_encoder") && checkpoint.has("text_encoder_2"); }

const Family family{
    .name = "sdxl_refiner",
    .towers = {{.encoder = "text_encoder_2",
                .tokenizer = "tokenizer_2",
                .class_name = "CLIPTextModelWithProjection",
                .embedding = "clip_g",
                .open_clip = true}},
    .options = {clip::clip_skip_option("2"), original_size, crop, negative_original_size, negative_crop, aesthetic_score,
                negative_aesthetic_score},
    .clip_skip = 2,
    .final_norm = false,
    .sizes = sizes,
    .latent_statistics = true,
    .strengths = {.image = 0.3},  // it was trained for the last steps
    .reference_strengths = {.image = 0.3, .mask = 0.9999},
    .step_tables = large_image_tables,
    .read_index = read_index,
};

}  // namespace

Entry entry() {
  return {
      .name = family.name,
      .summary = "The refiner of Stable Diffusion XL: executes the last steps, conditioned on an aesthetic score",
      .task = task_of<family>(files, {"StableDiffusionXLImg2ImgPipeline", "StableDiffusionXLPipeline", "StableDiffusionXLInpaintPipeline"},
                              claims),
      .title = "Stable Diffusion XL refiner",
  };
}

}  // namespace hearth::models::sdxl_refiner
