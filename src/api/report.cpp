#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/editing.h"
#include "api/loaded_model.h"
#include "api/prompts.h"
#include "core/memory.h"
#include "core/threads.h"
#include "media/recipe.h"
#include "models/option.h"
#include "models/request.h"
#include "sampling/samplers.h"
#include "text/unicode.h"

namespace hearth::api {
namespace {

using Json = nlohmann::ordered_json;

Json components_json(const models::ImageModel& pipeline) {
  Json list = Json::array();
  for (const models::ComponentReport& c : pipeline.components())
    list.push_back({{"name", c.name},
                    {"class", c.class_name},
                    {"files", c.files},
                    {"stored", c.stored},
                    {"held", c.held},
                    {"factors", c.factors},
                    {"parameters", c.parameters},
                    {"bytes", c.bytes},
                    {"kept_wider", c.kept_wider}});
  return list;
}

// What the request left to hearth or the checkpoint.
std::vector<std::string> defaults_of(const Request& r) {
  std::vector<std::string> names;
  if (!r.negative_prompt) names.push_back("negative_prompt");
  if (!r.clip_skip) names.push_back("clip_skip");
  if (!r.width) names.push_back("width");
  if (!r.height) names.push_back("height");
  if (r.sampler.empty()) names.push_back("sampler");
  if (r.schedule.empty() && r.sigmas.empty()) names.push_back("schedule");
  if (!r.seed) names.push_back("seed");
  return names;
}

// Then a picture is told by the batch's seed and its place, else by a seed of its own.
bool one_generator_for_all(Compat compat) { return compat == Compat::diffusers || compat == Compat::comfyui; }

// All options of a method or sampler, or those that differ from their defaults.
enum class All { no, yes };
std::map<std::string, std::string> texts_of(std::span<const sampling::Option> options, const sampling::Options& values, All all) {
  std::map<std::string, std::string> texts;
  for (const sampling::Option& o : options)
    if (const double value = values.at(std::string(o.name)); all == All::yes || value != o.standard)
      texts[std::string(o.name)] = sampling::text_of(o, value);
  return texts;
}
std::map<std::string, std::string> guidance_options(const models::ResolvedImage& r, All all) {
  return texts_of(r.guidance.method->options, r.guidance.options, all);
}
std::map<std::string, std::string> sampler_options(const models::ResolvedImage& r, All all) {
  return texts_of(sampling::find_sampler(r.sampler).options, r.sampler_options, all);
}

// The bytes that PNG text and JSON can hold; the tokenizer reads the same text out of both.
std::string as_utf8(const std::string& text) { return text::encode_utf8(text::decode_utf8(text)); }

std::optional<std::string> utf8(const std::optional<std::string>& text) { return text ? std::optional(as_utf8(*text)) : std::nullopt; }

Json option_json(const OptionValues& options, std::string_view name) {
  const auto value = models::option_of<int64_t>(options, name);
  return value ? Json(*value) : Json();
}

Json utf8_or_null(const std::optional<std::string>& text) { return text ? Json(as_utf8(*text)) : Json(); }

// Those that were given.
std::map<std::string, std::vector<double>> size_conditions_of(const SizeConditions& s) {
  std::map<std::string, std::vector<double>> told;
  for (const auto& [name, pair] : {std::pair{"original_size", s.original_size},
                                   {"target_size", s.target_size},
                                   {"crop", s.crop},
                                   {"negative_original_size", s.negative_original_size},
                                   {"negative_target_size", s.negative_target_size},
                                   {"negative_crop", s.negative_crop}})
    if (pair) told[name] = {double((*pair)[0]), double((*pair)[1])};
  if (s.aesthetic_score) told["aesthetic_score"] = {*s.aesthetic_score};
  if (s.negative_aesthetic_score) told["negative_aesthetic_score"] = {*s.negative_aesthetic_score};
  return told;
}

std::vector<std::string> embedding_names(const models::ResolvedImage& r) {
  std::vector<std::string> names;
  for (const text::EmbeddingName& e : r.embeddings) names.push_back(as_utf8(e.name));
  return names;
}

Json embeddings_json(const Run& run) {
  Json list = Json::array();
  for (size_t i = 0; i < run.resolved.embeddings.size(); ++i) {
    const text::EmbeddingName& e = run.resolved.embeddings[i];
    list.push_back({{"name", as_utf8(e.name)}, {"file", as_utf8(run.request.embeddings[i].file.string())}, {"vectors", e.vectors}});
  }
  return list;
}

}  // namespace

std::string device_name(const Backend& device) {
  return device.features().empty() ? device.name() : device.name() + " " + device.features();
}

std::string precision_of(const models::ImageModel& pipeline) {
  for (const models::ComponentReport& c : pipeline.components()) {
    if (c.name != "unet") continue;
    if (c.held != "as stored") return c.held;
    const auto most = std::ranges::max_element(c.stored, {}, [](const auto& entry) { return entry.second; });
    return most == c.stored.end() ? "" : most->first;
  }
  return "";
}

std::string describe(LoadedModel& model) {
  Json hashes = Json::object();
  for (const auto& [component, hash] : model.hashes->get()) hashes[component] = hash;
  const Json json = {{"name", model.name},
                     {"family", model.pipeline->family()},
                     {"scheduler", model.pipeline->scheduler()},
                     {"device", device_name(*model.device)},
                     {"threads", model.device->threads().size()},
                     {"components", components_json(*model.pipeline)},
                     {"hashes", hashes},
                     {"notes", model.pipeline->notes()},
                     {"load_seconds", model.load_seconds.load()}};
  return json.dump();
}

std::string write_report(LoadedModel& model, const Run& run, const models::ImageResult& result, const std::vector<std::string>& warnings,
                         const nlohmann::json& debug) {
  const models::ResolvedImage& r = run.resolved;
  Json json = {
      {"version", version()},
      {"model", model.name},
      {"family", model.pipeline->family()},
      {"device", device_name(*model.device)},
      {"threads", model.device->threads().size()},
      {"pinned", model.device->threads().pinned()},
      {"request",
       {{"prompt", as_utf8(run.request.prompt)},
        {"negative_prompt", as_utf8(run.request.negative_prompt.value_or(""))},
        {"prompt_2", utf8_or_null(run.request.prompt_2)},
        {"negative_prompt_2", utf8_or_null(run.request.negative_prompt_2)},
        {"prompt_syntax", name_of(models::syntax_of(run.request))},
        {"emphasis", name_of(models::emphasis_of(run.request))},
        {"clip_skip", option_json(r.options, "clip_skip")},
        {"clip_skip_2", option_json(r.options, "clip_skip_2")},
        {"embeddings", embeddings_json(run)},
        {"chunks", r.chunks},
        {"width", r.width},
        {"height", r.height},
        {"size_conditions", size_conditions_of(run.request.sizes)},
        {"refiner_start", r.refiner_start ? Json(*r.refiner_start) : Json()},
        {"steps", r.steps},
        {"guidance", run.request.guidance},
        {"guidance_method", r.guidance.method->name},
        {"guidance_rescale", r.guidance.rescale},
        {"guidance_interval", run.request.guidance_interval ? Json(*run.request.guidance_interval) : Json()},
        {"guidance_options", guidance_options(r, All::yes)},
        {"sampler", r.sampler},
        {"sampler_options", sampler_options(r, All::yes)},
        {"schedule", r.schedule},
        {"schedule_options", run.request.schedule_options},
        {"sigmas", run.request.sigmas},
        {"seed", run.seed},
        {"variation_seed", run.variation_seed},
        {"variation_strength", run.request.variation.strength},
        {"flags", described(run)},
        {"batch_size", r.batch},
        {"compat", name_of(run.request.compat)},
        {"rng", run.request.rng ? name_of(*run.request.rng) : ""},
        {"eta_noise_seed_delta", run.request.eta_noise_seed_delta},
        {"batch_index", run.request.batch_index},
        {"noise", run.request.noise ? "given" : "seed"},
        {"defaults", defaults_of(run.request)}}},
      {"precision", precision_of(*model.pipeline)},
      {"network_calls", r.network_calls},
      {"levels", {{"sigmas", r.sigmas}, {"timesteps", r.timesteps}}},
      {"seconds",
       {{"load", model.load_seconds.load()},
        {"encode", result.encode_seconds},
        {"sample", result.sample_seconds},
        {"steps", result.step_seconds},
        {"decode", result.decode_seconds},
        {"total", run.seconds}}},
      {"memory",
       {{"mode", run.plan.mode},
        {"predicted", run.plan.process},
        {"planned",
         {{"weights", run.plan.weights}, {"activations", run.plan.activations}, {"peak", run.plan.weights + run.plan.activations}}},
        {"measured", {{"peak", run.memory_peak}, {"process_peak", process_peak_bytes()}}}}},
      {"components", components_json(*model.pipeline)},
      {"largest_values", result.largest},
      {"notes", model.pipeline->notes()},
      {"warnings", warnings},
  };
  if (!debug.empty()) json["debug"] = debug;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void sign(Image& image, LoadedModel& model, const Run& run, int64_t index) {
  const models::ResolvedImage& r = run.resolved;
  const bool one_generator = one_generator_for_all(run.request.compat), varied = run.request.variation.strength > 0;
  const Recipe recipe{.version = version(),
                      .model = model.name,
                      .family = model.pipeline->family(),
                      .hashes = model.hashes->get(),
                      .prompt = as_utf8(run.request.prompt),
                      .negative_prompt = as_utf8(run.request.negative_prompt.value_or("")),
                      .prompt_2 = utf8(run.request.prompt_2),
                      .negative_prompt_2 = utf8(run.request.negative_prompt_2),
                      .prompt_syntax = std::string(name_of(models::syntax_of(run.request))),
                      .emphasis = std::string(name_of(models::emphasis_of(run.request))),
                      .clip_skip = models::option_of<int64_t>(r.options, "clip_skip").value_or(1),
                      .clip_skip_2 = run.request.clip_skip_2,
                      .embeddings = embedding_names(r),
                      .width = r.first_pass ? (*r.first_pass)[0] : r.width,
                      .height = r.first_pass ? (*r.first_pass)[1] : r.height,
                      .size_conditions = size_conditions_of(run.request.sizes),
                      .steps = r.steps,
                      .guidance = run.request.guidance,
                      .guidance_method = std::string(r.guidance.method->name),
                      .guidance_rescale = r.guidance.rescale,
                      .guidance_interval = run.request.guidance_interval,
                      .guidance_options = guidance_options(r, All::no),
                      .sampler = r.sampler,
                      .sampler_options = sampler_options(r, All::no),
                      .schedule = r.schedule,
                      .seed = one_generator || varied ? run.seed : run.seed + uint64_t(index),
                      .variation_seed = varied ? run.variation_seed + uint64_t(index) : 0,
                      .variation_strength = run.request.variation.strength,
                      .flags = described(run),
                      .batch_size = r.batch,
                      .batch_index = run.request.batch_index + index,
                      .compat = std::string(name_of(run.request.compat)),
                      .eta_noise_seed_delta = run.request.eta_noise_seed_delta,
                      .precision = precision_of(*model.pipeline),
                      .noise = run.request.noise ? "file" : "seed",
                      .refiner = r.refiner_start ? model.refiner : "",
                      .refiner_start = r.refiner_start.value_or(0),
                      .defaults = defaults_of(run.request)};
  image.json = write_recipe(recipe);
  image.parameters = write_parameters(to_parameters(recipe));
}

}  // namespace hearth::api
