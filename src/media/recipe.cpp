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

void add_option(Json& json, const RecipeOption& option) {
  if (option.group.empty()) json[option.name] = json_of(option.value);
  else json[option.group][option.name] = grouped_json_of(option.value);
}

std::array<int64_t, 2> pair_of(const Json& json) {
  const auto numbers = json.get<std::array<double, 2>>();
  return {int64_t(numbers[0]), int64_t(numbers[1])};
}

// Nothing where the description does not have it.
std::optional<OptionValue> read_option(const Json& recipe, const RecipeOption& option) {
  const Json& json = option.group.empty() ? recipe : recipe.contains(option.group) ? recipe.at(option.group) : Json::object();
  if (!json.contains(option.name)) return std::nullopt;
  const Json& value = json.at(option.name);
  const bool listed = !option.group.empty() && value.is_array() && value.size() == 1;
  const Json& single = listed ? value.at(0) : value;
  switch (option.type) {
    case OptionType::integer: return listed ? single.get<int64_t>() : whole(json, option.name.c_str()).get<int64_t>();
    case OptionType::number: return single.get<double>();
    case OptionType::text: return single.get<std::string>();
    default: return pair_of(value);
  }
}

}  // namespace

Json json_of(const OptionValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

Json grouped_json_of(const OptionValue& value) {
  if (const auto* pair = std::get_if<std::array<int64_t, 2>>(&value)) return {double((*pair)[0]), double((*pair)[1])};
  return Json::array({json_of(value)});
}

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
  };
  for (const RecipeOption& option : r.options)
    if (option.stated) add_option(json, option);
  json.update({
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
  });
  for (const RecipeOption& option : r.options)
    if (!option.stated) add_option(json, option);
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

Recipe parse_recipe(std::string_view text, const std::vector<RecipeOption>& options) {
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
    for (RecipeOption option : options)
      if (auto value = read_option(json, option)) {
        option.value = std::move(*value);
        r.options.push_back(std::move(option));
      }
    if (json.contains("refiner")) {
      json.at("refiner").at("name").get_to(r.refiner);
      json.at("refiner").at("start").get_to(r.refiner_start);
    }
    if (json.contains("prompt_syntax")) {  // pictures of earlier versions do not say
      json.at("prompt_syntax").get_to(r.prompt_syntax);
      json.at("emphasis").get_to(r.emphasis);
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
  for (const RecipeOption& option : r.options)
    if (!option.a1111.empty() && option.value != OptionValue(int64_t(1))) set(option.a1111, json_of(option.value).dump());
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
