#include "api/image/run_state.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/image/array.h"
#include "core/error.h"
#include "ops/shape_ops.h"

namespace hearth::api {
namespace {

using Json = nlohmann::json;

// The values that must be equal for a run to be resumed.
Json identity(const Request& request, const models::ResolvedImage& r, uint64_t seed) {
  return {{"sampler", r.sampler},
          {"schedule", r.schedule},
          {"steps", r.steps},
          {"width", r.width},
          {"height", r.height},
          {"batch_size", r.batch},
          {"sampler_options", r.sampler_options},
          {"strength", r.strength ? Json(*r.strength) : Json()},
          {"seed", seed},
          {"compat", name_of(request.compat)},
          {"discard_penultimate", request.discard_penultimate},
          {"rng", request.rng ? name_of(*request.rng) : ""},
          {"eta_noise_seed_delta", request.eta_noise_seed_delta},
          {"batch_index", request.batch_index}};
}

Json parsed(const RunState& state) {
  try {
    return Json::parse(state.json);
  } catch (const Json::exception& e) { fail<UsageError>("resume: the state is not valid JSON: {}", e.what()); }
}

}  // namespace

RunState to_run_state(const models::ResumePoint& resume, const Run& run) {
  const sampling::State& s = resume.state;
  RunState made;
  made.arrays["state.x"] = to_array(s.x);
  for (size_t i = 0; i < s.history.size(); ++i) made.arrays[fmt::format("state.history.{}", i)] = to_array(s.history[i]);
  if (resume.guidance) made.arrays["state.guidance"] = to_array(resume.guidance);
  Json json = {{"run", identity(run.requested, run.resolved, *run.used.seed)},
               {"step", s.step},
               {"draws", s.draws},
               {"done", s.done},
               {"history", s.history.size()}};
  for (const double m : s.memory) json["memory"].push_back(fmt::format("{:a}", m));  // exact, including infinity
  made.json = json.dump();
  return made;
}

uint64_t seed_of(const RunState& state) {
  try {
    return parsed(state).at("run").at("seed").get<uint64_t>();
  } catch (const Json::exception& e) { fail<UsageError>("resume: the state is incomplete: {}", e.what()); }
}

std::shared_ptr<const models::ResumePoint> from_run_state(const RunState& state, const Request& request,
                                                          const models::ResolvedImage& resolved, uint64_t seed, Backend& device) {
  const Json json = parsed(state),
             wanted = Json::parse(identity(request, resolved, seed).dump());  // round-tripped like the state, in which infinity is null
  const auto array = [&](const std::string& name) {
    const auto found = state.arrays.find(name);
    if (found == state.arrays.end()) fail<UsageError>("resume: the state has no '{}'", name);
    const auto [B, h, w, C] = resolved.latents;
    if (found->second.shape != std::vector<int64_t>{B, C, h, w})
      fail<UsageError>("resume: '{}' does not have the shape of this run's latents", name);
    return ops::to_channels_last(to_tensor(found->second, device, name.c_str()));
  };
  try {
    for (const auto& [key, value] : wanted.items())
      if (const Json& own = json.at("run").at(key); own != value)
        fail<UsageError>("resume: the state has {} {}, this run has {}", key, own.dump(), value.dump());
    auto made = std::make_shared<models::ResumePoint>();
    made->state.x = array("state.x");
    for (size_t i = 0; i < json.at("history").get<size_t>(); ++i) made->state.history.push_back(array(fmt::format("state.history.{}", i)));
    if (json.contains("memory"))
      for (const auto& m : json.at("memory")) made->state.memory.push_back(std::stod(m.get<std::string>()));
    json.at("step").get_to(made->state.step);
    json.at("draws").get_to(made->state.draws);
    json.at("done").get_to(made->state.done);
    if (state.arrays.contains("state.guidance")) made->guidance = array("state.guidance");
    return made;
  } catch (const Json::exception& e) {
    fail<UsageError>("resume: the state is incomplete: {}", e.what());
  } catch (const std::invalid_argument&) { fail<UsageError>("resume: 'memory' of the state is invalid, expected numbers"); }
}

}  // namespace hearth::api
