#include "api/rerun.h"

#include <algorithm>

#include "api/editing.h"
#include "api/model_options.h"
#include "core/error.h"
#include "media/picture.h"

namespace hearth {
namespace api {
namespace {

// "karras:rho=5" or "sigmas:14.6,7,0", as sampling::ScheduleChoice::text writes them.
void add_schedule(Rerun& r, const std::string& text) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon), rest = colon == text.npos ? "" : text.substr(colon + 1);
  if (name == "sigmas") return add_flag(r, "sigmas", rest);
  add_flag(r, "schedule", name);
  for (size_t begin = 0; begin < rest.size();) {
    const size_t end = std::min(rest.find(',', begin), rest.size());
    add_flag(r, "schedule-opt", rest.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

Rerun rerun_of_recipe(const Recipe& recipe) {
  Rerun r{.source = "hearth", .arguments = {}, .model = recipe.model};
  r.hashes.insert(recipe.hashes.begin(), recipe.hashes.end());
  add_flag(r, "prompt", recipe.prompt);
  const auto left_open = [&](const char* key) { return std::ranges::find(recipe.defaults, key) != recipe.defaults.end(); };
  if (!recipe.negative_prompt.empty() || !left_open("negative_prompt")) add_flag(r, "negative-prompt", recipe.negative_prompt);
  add_flag(r, "prompt-syntax", recipe.prompt_syntax);
  if (recipe.prompt_syntax == "a1111" && recipe.emphasis != "original") add_flag(r, "emphasis", recipe.emphasis);
  for (const RecipeOption& option : recipe.options) {
    if (left_open(option.name.c_str())) continue;
    std::string flag = option.name;
    std::ranges::replace(flag, '_', '-');
    add_flag(r, flag, text_of(option.value, option.type));
  }
  for (const std::string& name : recipe.embeddings)
    r.not_honoured.push_back(fmt::format("the embedding '{0}', whose file is not told: give --embedding {0}=FILE", name));
  add_flag(r, "width", recipe.width);
  add_flag(r, "height", recipe.height);
  const bool sigmas = recipe.schedule.starts_with("sigmas:");
  if (!sigmas) add_flag(r, "steps", recipe.steps);
  add_flag(r, "cfg-scale", recipe.guidance);
  if (recipe.guidance_method != "cfg") add_flag(r, "guidance-method", recipe.guidance_method);
  for (const auto& [name, value] : recipe.guidance_options) add_flag(r, "guidance-opt", fmt::format("{}={}", name, value));
  if (recipe.guidance_rescale != 0) add_flag(r, "guidance-rescale", recipe.guidance_rescale);
  if (const auto& i = recipe.guidance_interval) add_flag(r, "guidance-interval", fmt::format("{},{}", (*i)[0], (*i)[1]));
  add_flag(r, "sampler", recipe.sampler);
  for (const auto& [name, value] : recipe.sampler_options) add_flag(r, "sampler-opt", fmt::format("{}={}", name, value));
  if (!recipe.schedule.empty()) add_schedule(r, recipe.schedule);
  if (!recipe.compat.empty()) add_flag(r, "compat", recipe.compat);
  if (recipe.eta_noise_seed_delta != 0) add_flag(r, "ensd", recipe.eta_noise_seed_delta);
  add_flag(r, "seed", recipe.seed);
  // Pictures that came from one generator come again all together only.
  if (recipe.batch_size > 1 && (recipe.compat == "diffusers" || recipe.compat == "comfyui")) {
    add_flag(r, "batch-size", recipe.batch_size);
    r.not_honoured.push_back(fmt::format("that it is one of a batch: all {} are drawn, it is number {}", recipe.batch_size,
                                         recipe.batch_index % recipe.batch_size + 1));
  } else if (recipe.compat == "comfyui" && recipe.batch_index > 0) {
    add_flag(r, "batch-index", recipe.batch_index);
  }
  if (recipe.variation_strength != 0) {
    add_flag(r, "variation-seed", recipe.variation_seed);
    add_flag(r, "variation-strength", recipe.variation_strength);
  }
  for (const auto& [flag, value] : recipe.flags) {
    if (flag.ends_with("-sha256")) {
      r.pictures["--" + flag.substr(0, flag.size() - 7)] = value;
    } else if (value.empty() && (flag == "init-image" || flag == "mask" || flag == "depth-map")) {
      r.not_honoured.push_back(fmt::format("the picture of --{0}, whose file is not told: give --{0} FILE", flag));
    } else if (value.empty()) {
      r.arguments.push_back("--" + flag);
    } else {
      add_flag(r, flag, value);
    }
  }
  if (!recipe.refiner.empty())
    r.not_honoured.push_back(fmt::format("the refiner '{}', whose folder is not told: give --refiner PATH --refiner-start {}",
                                         recipe.refiner, recipe.refiner_start));
  if (recipe.noise != "seed") r.not_honoured.push_back("the first noise, which was a file's: give --noise FILE");
  return r;
}

}  // namespace api

Rerun rerun_of(const std::filesystem::path& picture) {
  const Picture read = read_picture(picture);
  if (const std::string* own = read.find(recipe_keyword)) return api::rerun_of_recipe(parse_recipe(*own, api::known_recipe_options()));
  if (const std::string* parameters = read.find(parameters_keyword)) return api::rerun_of_parameters(parse_parameters(*parameters));
  if (const std::string* graph = read.find("prompt")) return api::rerun_of_graph(*graph);
  fail<UsageError>("rerun: {} does not say how it was made", picture.string());
}

std::string pixels_sum(const std::filesystem::path& picture) { return api::sum_of(Image::load(picture)); }

}  // namespace hearth
