// `hearth bench samplers`: overhead of each sampler in addition to the denoiser calls.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "bench/bench.h"
#include "bench/bench_model.h"
#include "sampling/compat/compat.h"
#include "sampling/samplers.h"

namespace hearth::api {

using models::diffusion::Role;

Bench bench_samplers(const BenchOptions& options) {
  const auto device = make_backend({.name = options.device, .features = options.path, .threads = options.threads});
  const BenchModel model(options, {Role::denoiser});
  const Shape one = model.latents();
  const std::string denoiser = model.name_of(Role::denoiser);
  const Ceilings ceilings = measure_ceilings(*device);
  BenchTime network;
  {
    const auto networks = model.open(*device);
    models::diffusion::Holding holding(*networks);
    holding.load({}, {});
    network = time_of(options.repeats, model.step_run(holding, *device, 0));
  }
  nlohmann::json json = {
      {"machine", machine_json(*device, ceilings)}, {denoiser + "_step", network.seconds}, {"samplers", nlohmann::json::array()}};
  std::string text =
      machine_text(*device, ceilings) +
      fmt::format("{} step {:.3f} s; time that each sampler adds to a step, and its share of that\n", denoiser, network.seconds);

  // With a network that returns at once, the time is that of the sampler, its noise, guidance and the boundary to the network.
  const Tensor answer = sampling::torch_cpu_noise(1)(*device, {2, one[1], one[2], one[3]});
  const sampling::Network at_once = [&](const Tensor& x, float) { return x.size(0) == 2 ? answer : answer.slice(0, 0, 1); };
  const sampling::ScheduleChoice karras = sampling::find_schedule("karras", {}, sampling::Form::peers);
  const sampling::Schedule schedule = sampling::common_schedule(model.model().facts().scheduler, karras, 12);
  int64_t done = 0;
  const auto all = sampling::samplers();
  for (const sampling::Sampler& sampler : all) {
    if (options.progress) options.progress({.phase = "measure", .done = done++, .total = int64_t(all.size())});
    int64_t taken = 0;
    const BenchTime time = time_of(options.repeats, [&] {
      sampling::Noise noise = sampling::make_noise(sampling::Compat::hearth, {.seed = 1}, schedule, sampler);
      const auto denoise =
          sampling::make_denoiser(at_once, {schedule.prediction, schedule.sigma_data}, 7.5,
                                  sampler.needs_unconditional ? sampling::Unconditional::needed : sampling::Unconditional::unused);
      const Tensor x = sampling::starting_point(schedule, noise(*device, one));
      taken = 0;
      sampling::sample(sampler, denoise, x, schedule, noise, {}, [&](const sampling::StepInfo&) { ++taken; });
    });
    const double seconds = time.seconds / double(taken), share = seconds / network.seconds;
    json["samplers"].push_back({{"sampler", sampler.name}, {"seconds", seconds}, {"share", share}});
    text += fmt::format("{:<32} {:9.5f} s  {:6.3f} %\n", sampler.name, seconds, 100 * share);
  }
  return {.text = text, .json = json.dump()};
}

}  // namespace hearth::api
