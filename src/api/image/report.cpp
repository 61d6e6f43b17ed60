#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/image/loaded_model.h"
#include "api/settings/a1111.h"
#include "api/settings/recipe.h"
#include "api/settings/report.h"
#include "backends/split/split_backend.h"
#include "core/memory.h"
#include "core/text/utf8.h"
#include "core/threads.h"

namespace hearth::api {
namespace {

using Json = nlohmann::ordered_json;

Json components_json(const std::vector<models::ComponentReport>& components) {
  Json list = Json::array();
  for (const models::ComponentReport& c : components) {
    list.push_back({{"name", c.name},
                    {"class", c.class_name},
                    {"files", c.files},
                    {"stored", c.stored},
                    {"held", c.held},
                    {"factors", c.factors},
                    {"device", c.device},
                    {"parameters", c.parameters},
                    {"bytes", c.bytes},
                    {"kept_wider", c.kept_wider}});
    if (c.blocks > 0)
      list.back()["blocks"] = {{"count", c.blocks},
                               {"in_memory", c.blocks_in_memory},
                               {"loads", c.block_loads},
                               {"load_seconds", c.block_load_seconds},
                               {"wait_seconds", c.block_wait_seconds}};
    if (c.card) list.back()["gpu"] = {{"blocks", c.card->blocks}, {"of_blocks", c.card->of_blocks}, {"bytes", c.card->bytes}};
  }
  return list;
}

// The precisions of the components that are not held as stored, by the command's flags without their dashes.
std::map<std::string, std::string> precision_flags(const std::vector<models::ComponentReport>& components) {
  std::map<std::string, std::string> flags;
  for (const ComponentInfo& info : list_components()) {
    const auto c = std::ranges::find(components, info.name, &models::ComponentReport::name);
    if (c != components.end() && c->held != "as stored") flags.emplace(info.precision_flag.substr(2), c->held);
  }
  return flags;
}

const models::ComponentReport* denoiser_of(const std::vector<models::ComponentReport>& components) {
  const auto found = std::ranges::find(components, models::Role::denoiser, &models::ComponentReport::role);
  return found == components.end() ? nullptr : &*found;
}

std::string precision_of(const std::vector<models::ComponentReport>& components) {
  const models::ComponentReport* denoiser = denoiser_of(components);
  if (denoiser == nullptr) return "";
  if (denoiser->held != "as stored") return denoiser->held;
  const auto most = std::ranges::max_element(denoiser->stored, {}, [](const auto& entry) { return entry.second; });
  return most == denoiser->stored.end() ? "" : most->first;
}

std::string hash_of(const Hashes& hashes, const models::ComponentReport* component) {
  if (component == nullptr) return "";
  const auto found = std::ranges::find(hashes, component->name, &Hashes::value_type::first);
  return found == hashes.end() ? "" : found->second;
}

// The settings that the run used, and what it computed from them: chunks of prompts, vectors of embeddings, the images' size.
Json request_json(const Run& run) {
  const models::ResolvedImage& r = run.resolved;
  std::map<std::string, std::string> flags = flags_of(run.requested, run.used);
  flags.merge(precision_flags(run.components));
  Json json = settings_json(run.requested, run.used, flags, {.after = "embeddings", .name = "chunks", .value = r.chunks});
  for (size_t i = 0; i < r.embeddings.size(); ++i) json["embeddings"][i]["vectors"] = r.embeddings[i].vectors;
  const std::array<int64_t, 2> size = r.resized_to.value_or(std::array{r.width, r.height});
  json["width"] = size[0], json["height"] = size[1];  // of the images: a second pass makes them larger than requested
  json["noise"] = run.requested.noise ? "given" : "seed";
  json["defaults"] = defaults_of(run.requested, run.used);
  return json;
}

}  // namespace

// Each once.
std::vector<SplitBackend*> divided_devices(const LoadedModel& model) {
  std::vector<SplitBackend*> all;
  const auto add = [&](Backend* device) {
    auto* const divided = dynamic_cast<SplitBackend*>(device);
    if (divided && std::ranges::find(all, divided) == all.end()) all.push_back(divided);
  };
  add(model.device.get());
  for (const auto& device : model.others) add(device.get());
  return all;
}

std::string device_name(const Backend& device) {
  return device.features().empty() ? device.name() : device.name() + " " + device.features();
}

std::string describe(LoadedModel& model) {
  Json hashes = Json::object();
  for (const auto& [component, hash] : model.hashes->get()) hashes[component] = hash;
  const Json json = {{"name", model.name},
                     {"family", model.pipeline->family()},
                     {"scheduler", model.pipeline->scheduler()},
                     {"device", device_name(*model.device)},
                     {"threads", model.device->threads().size()},
                     {"components", components_json(model.pipeline->components())},
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
      {"request", request_json(run)},
      {"precision", precision_of(run.components)},
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
      {"components", components_json(run.components)},
      {"largest_values", result.largest},
      {"notes", model.pipeline->notes()},
      {"warnings", warnings},
  };
  if (run.plan.card)
    json["memory"]["gpu"] = {
        {"planned", {{"weights", run.plan.card->weights}, {"activations", run.plan.card->activations}, {"peak", run.plan.card->peak()}}},
        {"measured", {{"peak", run.card_peak}}}};
  for (const adapters::Coverage& c : r.adapters)
    json["adapters"].push_back({{"file", valid_utf8(c.path.string())},
                                {"modules", c.modules},
                                {"weights", c.weights},
                                {"changed", c.changed},
                                {"unread", c.surplus},
                                {"text", valid_utf8(adapters::text_of(c))}});
  if (run.ended_after > 0) json["ended_after"] = run.ended_after;
  if (!debug.empty()) json["debug"] = debug;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void sign(Image& image, LoadedModel& model, const Run& run, const Request& used) {
  const Hashes& hashes = model.hashes->get();
  const RecipeFacts facts{.version = version(),
                          .model = model.name,
                          .family = model.pipeline->family(),
                          .hashes = hashes,
                          .denoiser_hash = hash_of(hashes, denoiser_of(run.components)),
                          .precision = precision_of(run.components),
                          .refiner = model.refiner,
                          .ended_after = run.ended_after,
                          .flags = precision_flags(run.components)};
  image.json = write_recipe(facts, run.requested, used);
  image.parameters = write_parameters(to_parameters(facts, used));
}

}  // namespace hearth::api
