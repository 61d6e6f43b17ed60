#include "sampling/compat/compat.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "sampling/compat/a1111_times.h"
#include "sampling/names.h"
#include "sampling/noise/noise_sources.h"
#include "sampling/schedules/sigma_schedules.h"

namespace hearth::sampling {
namespace {

// The range of an SDE sampler's path: the smallest σ above 0, and the largest.
std::pair<double, double> span_of(const Schedule& schedule) {
  if (schedule.path_ends) return *schedule.path_ends;
  double low = HUGE_VAL, high = 0;
  for (const Step& step : schedule.steps)
    for (const Level& level : {step.from, step.to}) {
      const double sigma = schedule.path.coordinate(level);
      if (sigma > 0) low = std::min(low, sigma);
      high = std::max(high, sigma);
    }
  return {low, high};
}

Generators generators_of(Compat compat) { return compat == Compat::diffusers ? Generators::one : Generators::per_image; }

Rng rng_of(Compat compat, const NoiseRequest& r) { return r.rng.value_or(compat == Compat::a1111 ? Rng::nv : Rng::cpu); }

// Difference between the seeds of a batch's images.
uint64_t apart_of(const NoiseRequest& r) { return r.variation.strength > 0 ? 0 : 1; }

// The sigmas of a choice. Karras' and exponential schedules are computed in these programs' f32 arithmetic: Brownian paths are rough, so a
// σ that differs in its last bit has different noise.
Values made_in_f32(const ScheduleChoice& choice, const ModelSigmas& model, int64_t n) {
  Values sigmas = choice.make(model, n);
  if (!choice.sigma || (choice.sigma->name != "karras" && choice.sigma->name != "exponential")) return sigmas;
  const auto option = [&](std::string_view name, double otherwise) {
    const auto found = choice.options.find(name);
    return found == choice.options.end() ? otherwise : found->second;
  };
  const double low = option("sigma_min", model.least()), high = option("sigma_max", model.most());
  if (choice.sigma->name == "exponential") {
    const std::vector<float> logs = linspace_f32(std::log(high), std::log(low), n);
    for (int64_t i = 0; i < n; ++i) sigmas[size_t(i)] = double(float(std::exp(double(logs[size_t(i)]))));
    return sigmas;
  }
  const double rho = option("rho", 7), from = std::pow(high, 1 / rho), to = std::pow(low, 1 / rho);
  const std::vector<float> ramp = linspace_f32(0, 1, n);
  for (int64_t i = 0; i < n; ++i)
    sigmas[size_t(i)] = double(float(std::pow(double(float(from) + ramp[size_t(i)] * float(to - from)), rho)));
  return sigmas;
}

bool is_flow(const SchedulerConfig& config) {
  return config.prediction == Prediction::flow || config.prediction == Prediction::reverse_flow;
}

// The noise levels that other programs know of a network, and the curve on which they lie.
struct KnownLevels {
  ModelSigmas model;
  Path path;
  Prediction prediction;
};

// `of_table`: how the timestep of a σ between the entries of a noise table is found. Of a flow network's shift that depends on the image's
// size, ComfyUI takes the largest, and a table of 10000 entries (ModelSamplingFlux).
KnownLevels known_levels(const SchedulerConfig& config, Times of_table, const std::optional<FlowTable>& flow = {}) {
  if (is_flow(config)) {
    FlowTable known{.shift = config.shift, .entries = config.num_train_timesteps};
    if (config.dynamic_shift) known = {.shift = shift_of(config.time_shift, config.mu_line.max_shift), .entries = 10000};
    if (flow) known = *flow;
    const Times times = config.prediction == Prediction::flow ? Times::proportional : Times::reversed;
    return {ModelSigmas::flow(known.shift, known.entries),
            {.family = Family::flow, .times = times, .multiplier = double(config.num_train_timesteps), .shift = known.shift},
            config.prediction};
  }
  const SchedulerConfig of_sigma = config.with_class(SchedulerClass::euler);
  const auto table = std::make_shared<const NoiseTable>(of_sigma);
  return {ModelSigmas::exploding(table->sigmas), {.times = of_table, .table = table}, of_sigma.prediction};
}

// Steps along σ, in f32 as in these programs.
Schedule along(const std::vector<double>& sigmas, const KnownLevels& known) {
  Schedule s{.steps = {}, .prediction = known.prediction};
  s.path = known.path;
  const auto level = [&](double sigma) {
    return sigma > 0 || s.path.family == Family::flow ? s.path.at(double(float(sigma))) : Level::exploding(0, 0);
  };
  for (size_t i = 0; i + 1 < sigmas.size(); ++i) s.steps.push_back({level(sigmas[i]), level(sigmas[i]), level(sigmas[i + 1])});
  s.init_scale = float(sigmas.front());
  s.first_order_last = sigmas.back() == 0;
  return s;
}

// Without a schedule (a1111_times.h).
bool goes_by_time(Compat compat, const Sampler& sampler) {
  return compat == Compat::a1111 && (sampler.a1111_levels == A1111Levels::timesteps || sampler.a1111_levels == A1111Levels::times);
}

}  // namespace

void check(Compat compat, const NoiseRequest& r) {
  if (r.eta_seed_delta != 0 && compat != Compat::a1111)
    fail<UsageError>("noise: an eta noise seed delta is supported only by A1111, expected compat a1111");
  if (r.first_image != 0 && compat != Compat::comfyui)
    fail<UsageError>("noise: a batch index is supported only by ComfyUI, expected compat comfyui");
  if (r.first_image < 0) fail<UsageError>("noise: batch index is {}, expected at least 0", r.first_image);
  if (!(r.variation.strength >= 0 && r.variation.strength <= 1))
    fail<UsageError>("noise: variation strength is {}, expected a number from 0 to 1", r.variation.strength);
  if (r.variation.strength > 0 && (compat == Compat::diffusers || compat == Compat::comfyui))
    fail<UnsupportedError>("noise: {} has no variation seeds, expected compat a1111, or none", name_of(compat));
  if (r.variation.strength > 0 && r.given) fail<UsageError>("noise: both a variation and given noise, expected one of them");
  if (r.rng == Rng::nv && (compat == Compat::diffusers || compat == Compat::comfyui))
    fail<UsageError>("noise: {} has no noise source nv, expected compat a1111, or none", name_of(compat));
}

Noise make_noise(Compat compat, const NoiseRequest& r, const Schedule& schedule, const Sampler& sampler) {
  check(compat, r);
  const Rng rng = rng_of(compat, r);
  const auto drawn = [&](uint64_t seed, EncodingDraws encodings, uint64_t apart) {
    return rng == Rng::nv ? nv_draws(seed, apart) : torch_draws(seed, generators_of(compat), encodings, apart);
  };
  const auto given = [&](NoiseDraws otherwise) { return r.given ? given_draw(r.given) : std::move(otherwise); };
  const uint64_t apart = apart_of(r);
  const auto path = [&](Generators generators) {
    const auto [low, high] = span_of(schedule);
    const bool brownian = compat == Compat::comfyui ? sampler.brownian.comfyui : sampler.brownian.a1111;
    if (!brownian || !(low < high)) return NoiseIncrements();  // a single noise level: no step in between
    return torchsde_increments(r.seed, generators, low, high, apart, rng);
  };
  const auto varied = [&](NoiseDraws own, NoiseDraws other) {
    return r.variation.strength > 0 ? varied_draws(std::move(own), std::move(other), r.variation.strength) : own;
  };
  switch (compat) {
    case Compat::hearth:
    case Compat::diffusers: {
      EncodingDraws encodings = r.encodings;
      if (r.given) encodings.before += std::exchange(encodings.after, 0);  // the given draw is not made between them
      Noise noise(varied(drawn(r.seed, encodings, apart), drawn(r.variation.seed, {}, 1)), octave_increments(r.seed, apart));
      return r.given ? noise_from(r.given, std::move(noise)) : noise;
    }
    case Compat::comfyui: {
      NoiseDraws first = r.first_image > 0 ? torch_indexed_draws(r.seed, r.first_image) : torch_draws(r.seed, Generators::one);
      return Noise(first_then(given(std::move(first)), torch_draws(r.seed + 1, Generators::one)), path(Generators::one));
    }
    case Compat::a1111: {
      const NoiseDraws own = varied(drawn(r.seed, {}, apart), drawn(r.variation.seed, {}, 1));
      const NoiseDraws draws = r.eta_seed_delta == 0 ? first_replaced(given(own), own)
                                                     : first_then(given(own), drawn(r.seed + uint64_t(r.eta_seed_delta), {}, apart));
      return Noise(draws, path(Generators::per_image));
    }
  }
  return {};
}

Tensor encoding_noise(Compat compat, const NoiseRequest& r, Backend& device, const Shape& shape, int64_t number) {
  if (compat == Compat::comfyui) return {};
  const bool follows = compat != Compat::a1111 && rng_of(compat, r) == Rng::cpu;
  return torch_encoding_draw(r.seed, generators_of(compat), r.encodings, device, shape, number, !follows || r.given, apart_of(r));
}

bool has_own_schedule(Compat compat, const Sampler& sampler) {
  if (compat != Compat::comfyui && compat != Compat::a1111) return false;
  const bool comfyui = compat == Compat::comfyui;
  if (!(comfyui ? sampler.programs.comfyui : sampler.programs.a1111))
    fail<UsageError>("sampler '{}': not available in {}, expected another sampler", sampler.name, comfyui ? "ComfyUI" : "A1111");
  return true;
}

ScheduleChoice own_choice(Compat compat, const Sampler& sampler, std::string_view name, const ScheduleOptions& options) {
  std::string wanted = folded(name);
  const bool automatic = wanted.empty() || wanted == "default" || wanted == "automatic";
  if (goes_by_time(compat, sampler)) {
    if (!automatic || !options.empty())
      fail<UsageError>("sampler '{}': A1111's has timesteps of its own, expected no schedule and no schedule option", sampler.name);
    return {};
  }
  if (automatic) wanted = compat == Compat::a1111 && sampler.schedule != "default" ? folded(sampler.schedule) : "normal";
  if (const SigmaSchedule* plain = find_sigma_schedule(wanted)) wanted = folded(plain->name);
  for (const char* form : {compat == Compat::a1111 ? "_a1111" : "_comfyui", compat == Compat::a1111 ? "_11" : ""})
    if (find_sigma_schedule(wanted + form)) {  // the program's own form of the name
      wanted += form;
      break;
    }
  const SigmaSchedule* found = find_sigma_schedule(wanted);
  if (!found) {
    std::string known;
    for (const SigmaSchedule& s : sigma_schedules()) known += (known.empty() ? "" : ", ") + std::string(s.name);
    fail<UsageError>("schedule '{}' is unknown, expected one of {}", name, known);
  }
  return {.name = std::string(found->name), .sigma = found, .options = options};
}

Schedule own_schedule(Compat compat, const SchedulerConfig& config, const Sampler& sampler, const ScheduleChoice& choice, int64_t steps,
                      const std::optional<FlowTable>& table) {
  if (steps < 1) fail<UsageError>("steps: got {}, expected at least 1", steps);
  const bool given = !choice.sigmas.empty(), comfyui = compat == Compat::comfyui, flow = is_flow(config);
  if (flow && !comfyui && !table)
    fail<UnsupportedError>(
        "schedule: {}'s conventions for this flow network are not supported, expected compat diffusers, comfyui, or none", name_of(compat));
  if (flow && !sampler.on_flow_paths)
    fail<UnsupportedError>("sampler '{}': is not defined for flow networks, expected another sampler", sampler.name);
  if (goes_by_time(compat, sampler)) {
    if (flow)
      fail<UnsupportedError>("sampler '{}': A1111's has timesteps of its own, which a flow network has not, expected another sampler",
                             sampler.name);
    if (choice.gives_sigmas()) fail<UsageError>("sampler '{}': A1111's has timesteps of its own, expected no sigmas", sampler.name);
    return a1111_time_schedule(config, sampler, choice.drops_penultimate ? steps + 1 : steps);
  }
  const bool always = comfyui ? sampler.drops_penultimate.comfyui : sampler.drops_penultimate.a1111;
  const bool drops = !given && (always || choice.drops_penultimate);
  const KnownLevels known = known_levels(config, comfyui ? Times::nearest : Times::table, table);
  const bool distilled = !comfyui && !flow && sampler.a1111_levels == A1111Levels::distilled;
  const DistilledLevels lcm = distilled ? a1111_distilled_levels(*known.path.table, known.prediction) : DistilledLevels();
  const ModelSigmas model = distilled ? ModelSigmas::exploding(lcm.sigmas) : known.model;
  Values sigmas = made_in_f32(choice, model, drops ? steps + 1 : steps);
  if (drops && sigmas.size() > 2) sigmas.erase(sigmas.end() - 2);
  Schedule s = along(sigmas, known);
  if (distilled)
    for (Step& step : s.steps) step.at.timestep = step.from.timestep = lcm.timestep_of(step.from.sigma);
  const double first = s.steps.front().from.sigma, most = known.model.most();
  const bool whole = first > most || std::abs(first - most) <= 1e-5 * most;
  if (comfyui && whole && !flow) s.init_scale = float(std::sqrt(1 + first * first));
  if (!comfyui) s.path_ends = span_of(s);  // of the whole schedule, even if the run executes only a part of it
  if (!comfyui && sampler.a1111_levels == A1111Levels::ends) s.ends = {model.most(), model.least(), steps};
  return s;
}

Schedule common_schedule(const SchedulerConfig& config, const ScheduleChoice& choice, int64_t steps) {
  if (!choice.gives_sigmas())
    fail<UsageError>("schedule '{}': samplers are compared on sigmas, expected a schedule of sigmas", choice.name);
  const KnownLevels known = known_levels(config, Times::table);
  std::vector<double> sigmas = choice.make(known.model, steps + 1);
  if (sigmas.back() == 0) sigmas.pop_back();
  return along(sigmas, known);
}

Options own_options(Compat compat, const Sampler& sampler) {
  if (compat == Compat::a1111) return sampler.in_a1111;
  return compat == Compat::comfyui ? sampler.in_comfyui : Options();
}

}  // namespace hearth::sampling
