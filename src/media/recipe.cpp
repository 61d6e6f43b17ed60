#include "media/recipe.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t format = 1;

struct Label {
  std::string_view name, a1111;
};
constexpr Label samplers[] = {
    {"ddim", "DDIM"}, {"euler", "Euler"}, {"euler_ancestral", "Euler a"}, {"dpmpp_2m", "DPM++ 2M"}, {"plms", "PLMS"},
};
constexpr Label schedules[] = {{"karras", "Karras"}};

template <size_t n> std::string label(const Label (&labels)[n], const std::string& name) {
  for (const Label& l : labels)
    if (l.name == name) return std::string(l.a1111);
  return name;
}

// get<int64_t>() would convert a fraction, or a number of any size, without a word.
const Json& whole(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_number_integer()) fail<IoError>("recipe: {} is {}, needed a whole number", key, value.dump());
  return value;
}

// What guidance is besides its scale; null where it is classifier-free and nothing else.
Json guidance_settings(const Recipe& r) {
  if (r.guidance_method == "cfg" && r.guidance_rescale == 0 && !r.guidance_interval && r.guidance_options.empty()) return nullptr;
  Json json = {{"method", r.guidance_method}, {"rescale", r.guidance_rescale}};
  if (r.guidance_interval) json["interval"] = *r.guidance_interval;
  json["options"] = r.guidance_options;
  return json;
}

void read_guidance_settings(const Json& json, Recipe& r) {
  json.at("method").get_to(r.guidance_method);
  json.at("rescale").get_to(r.guidance_rescale);
  json.at("options").get_to(r.guidance_options);
  if (json.contains("interval")) r.guidance_interval = json.at("interval").get<std::array<double, 2>>();
}

}  // namespace

std::string write_recipe(const Recipe& r) {
  if (!std::isfinite(r.guidance)) fail<UsageError>("recipe: guidance {} is not finite", r.guidance);
  Json hashes = Json::object();
  for (const auto& [component, hash] : r.hashes) hashes[component] = hash;
  Json json = {
      {"hearth", r.version},
      {"format", format},
      {"model", {{"name", r.model}, {"family", r.family}, {"hashes", hashes}}},
      {"prompt", r.prompt},
      {"negative_prompt", r.negative_prompt},
      {"prompt_syntax", r.prompt_syntax},
      {"emphasis", r.emphasis},
      {"clip_skip", r.clip_skip},
      {"embeddings", r.embeddings},
      {"width", r.width},
      {"height", r.height},
      {"steps", r.steps},
      {"guidance", r.guidance},
      {"sampler", r.sampler},
      {"schedule", r.schedule},
      {"seed", r.seed},
      {"batch_size", r.batch_size},
      {"batch_index", r.batch_index},
      {"compat", r.compat},
      {"precision", r.precision},
      {"noise", r.noise},
      {"defaults", r.defaults},
  };
  if (r.prompt_2) json["prompt_2"] = *r.prompt_2;
  if (r.negative_prompt_2) json["negative_prompt_2"] = *r.negative_prompt_2;
  if (r.clip_skip_2) json["clip_skip_2"] = *r.clip_skip_2;
  if (!r.size_conditions.empty()) json["size_conditions"] = r.size_conditions;
  if (!r.refiner.empty()) json["refiner"] = {{"name", r.refiner}, {"start", r.refiner_start}};
  if (!r.sampler_options.empty()) json["sampler_options"] = r.sampler_options;
  if (const Json settings = guidance_settings(r); !settings.is_null()) json["guidance_settings"] = settings;
  if (r.eta_noise_seed_delta != 0) json["eta_noise_seed_delta"] = r.eta_noise_seed_delta;
  if (r.variation_strength != 0) json["variation"] = {{"seed", r.variation_seed}, {"strength", r.variation_strength}};
  if (!r.flags.empty()) json["flags"] = r.flags;
  try {
    return json.dump();
  } catch (const Json::exception& e) { fail<UsageError>("recipe: a text is not valid UTF-8 ({})", e.what()); }
}

Recipe parse_recipe(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (const auto found = whole(json, "format").get<int64_t>(); found != format)
      fail<IoError>("recipe: format {}, this version reads format {}", found, format);
    Recipe r;
    json.at("hearth").get_to(r.version);
    const Json& model = json.at("model");
    model.at("name").get_to(r.model);
    model.at("family").get_to(r.family);
    for (const auto& [component, hash] : model.at("hashes").items()) r.hashes.emplace_back(component, hash.get<std::string>());
    json.at("prompt").get_to(r.prompt);
    json.at("negative_prompt").get_to(r.negative_prompt);
    if (json.contains("prompt_2")) r.prompt_2 = json.at("prompt_2").get<std::string>();
    if (json.contains("negative_prompt_2")) r.negative_prompt_2 = json.at("negative_prompt_2").get<std::string>();
    if (json.contains("clip_skip_2")) r.clip_skip_2 = whole(json, "clip_skip_2").get<int64_t>();
    if (json.contains("size_conditions")) json.at("size_conditions").get_to(r.size_conditions);
    if (json.contains("refiner")) {
      json.at("refiner").at("name").get_to(r.refiner);
      json.at("refiner").at("start").get_to(r.refiner_start);
    }
    if (json.contains("prompt_syntax")) {  // pictures of earlier versions do not say
      json.at("prompt_syntax").get_to(r.prompt_syntax);
      json.at("emphasis").get_to(r.emphasis);
      whole(json, "clip_skip").get_to(r.clip_skip);
      json.at("embeddings").get_to(r.embeddings);
    }
    whole(json, "width").get_to(r.width);
    whole(json, "height").get_to(r.height);
    whole(json, "steps").get_to(r.steps);
    json.at("guidance").get_to(r.guidance);
    if (json.contains("guidance_settings")) read_guidance_settings(json.at("guidance_settings"), r);
    json.at("sampler").get_to(r.sampler);
    if (json.contains("sampler_options")) json.at("sampler_options").get_to(r.sampler_options);
    json.at("schedule").get_to(r.schedule);
    whole(json, "seed").get_to(r.seed);
    whole(json, "batch_size").get_to(r.batch_size);
    whole(json, "batch_index").get_to(r.batch_index);
    json.at("compat").get_to(r.compat);
    if (json.contains("variation")) {
      whole(json.at("variation"), "seed").get_to(r.variation_seed);
      json.at("variation").at("strength").get_to(r.variation_strength);
    }
    if (json.contains("flags")) json.at("flags").get_to(r.flags);
    if (json.contains("eta_noise_seed_delta")) whole(json, "eta_noise_seed_delta").get_to(r.eta_noise_seed_delta);
    json.at("precision").get_to(r.precision);
    json.at("noise").get_to(r.noise);
    json.at("defaults").get_to(r.defaults);
    return r;
  } catch (const Json::exception& e) { fail<IoError>("recipe: not a description of a picture: {}", e.what()); }
}

Parameters to_parameters(const Recipe& r) {
  Parameters p{.prompt = r.prompt, .negative_prompt = r.negative_prompt, .settings = {}};
  const auto set = [&p](std::string name, std::string value) { p.settings.emplace_back(std::move(name), std::move(value)); };
  set("Steps", fmt::format("{}", r.steps));
  set("Sampler", label(samplers, r.sampler));
  if (!r.schedule.empty()) set("Schedule type", label(schedules, r.schedule));
  set("CFG scale", fmt::format("{}", r.guidance));
  set("Seed", fmt::format("{}", r.seed));
  set("Size", fmt::format("{}x{}", r.width, r.height));
  for (const auto& [component, hash] : r.hashes)
    if (component == "unet") set("Model hash", hash.substr(0, 10));
  set("Model", r.model);
  if (!r.refiner.empty()) {
    set("Refiner", r.refiner);
    set("Refiner switch at", fmt::format("{}", r.refiner_start));
  }
  if (r.clip_skip != 1) set("Clip skip", fmt::format("{}", r.clip_skip));
  if (r.prompt_syntax == "a1111" && r.emphasis != "original")
    set("Emphasis", r.emphasis == "no-norm" ? "No norm" : r.emphasis == "ignore" ? "Ignore" : "None");
  const auto rng = r.flags.find("rng");
  const bool nv = rng == r.flags.end() ? r.compat == "a1111" : rng->second == "nv";
  if (r.noise == "seed") set("RNG", nv ? "NV" : "CPU");
  if (r.eta_noise_seed_delta != 0) set("ENSD", fmt::format("{}", r.eta_noise_seed_delta));
  if (r.flags.contains("discard-penultimate")) set("Discard penultimate sigma", "True");
  if (r.variation_strength != 0) {
    set("Variation seed", fmt::format("{}", r.variation_seed));
    set("Variation seed strength", fmt::format("{}", r.variation_strength));
  }
  const auto set_edit = [&](const char* flag, const char* name) {
    if (const auto found = r.flags.find(flag); found != r.flags.end()) set(name, found->second);
  };
  set_edit("strength", "Denoising strength");
  set_edit("hires-strength", "Denoising strength");
  set_edit("hires", "Hires upscale");
  set_edit("hires-steps", "Hires steps");
  set_edit("hires-upscaler", "Hires upscaler");
  set_edit("image-guidance", "Image CFG scale");
  set_edit("mask-blur", "Mask blur");
  if (r.flags.contains("only-masked")) set("Inpaint area", "Only masked");
  set_edit("mask-padding", "Masked area padding");
  set_edit("inpaint-fill", "Masked content");
  set("Version", "hearth " + r.version);
  return p;
}

}  // namespace hearth
