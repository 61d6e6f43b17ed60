#include "sampling/compat.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "sampling/names.h"
#include "sampling/noise_sources.h"
#include "sampling/sigma_schedules.h"

namespace hearth::sampling {
namespace {

constexpr std::array<std::string_view, 4> names{"", "diffusers", "comfyui", "a1111"};

// The levels that an SDE sampler's path is made for: the smallest that is not 0, and the largest.
std::pair<double, double> span_of(const Schedule& schedule) {
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

// Between the seeds of a batch's images.
uint64_t apart_of(const NoiseRequest& r) { return r.variation.strength > 0 ? 0 : 1; }

const SigmaSchedule& find_own(Compat compat, const Sampler& sampler, std::string_view name) {
  std::string wanted = folded(name);
  if (wanted.empty() || wanted == "default" || wanted == "automatic")
    wanted = compat == Compat::a1111 && sampler.schedule != "default" ? folded(sampler.schedule) : "normal";
  if (compat == Compat::a1111)  // its own forms of two names
    if (const SigmaSchedule* own = find_sigma_schedule(wanted + "_a1111")) return *own;
  if (const SigmaSchedule* found = find_sigma_schedule(wanted)) return *found;
  std::string known;
  for (const SigmaSchedule& s : sigma_schedules()) known += (known.empty() ? "" : ", ") + std::string(s.name);
  fail<UsageError>("schedule '{}' is unknown; known: {}", name, known);
}

}  // namespace

Compat find_compat(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) fail<UsageError>("compat '{}' is unknown, needed diffusers, comfyui or a1111", name);
  return Compat(found - names.begin());
}

std::string_view name_of(Compat compat) { return names[size_t(compat)]; }

void check(Compat compat, const NoiseRequest& r) {
  if (r.eta_seed_delta != 0 && compat != Compat::a1111) fail<UsageError>("noise: an eta noise seed delta is A1111's; needed compat a1111");
  if (r.first_image != 0 && compat != Compat::comfyui) fail<UsageError>("noise: a batch index is ComfyUI's; needed compat comfyui");
  if (r.first_image < 0) fail<UsageError>("noise: batch index {}, needed at least 0", r.first_image);
  if (!(r.variation.strength >= 0 && r.variation.strength <= 1))
    fail<UsageError>("noise: variation strength {}, needed 0 to 1", r.variation.strength);
  if (r.variation.strength > 0 && (compat == Compat::diffusers || compat == Compat::comfyui))
    fail<UnsupportedError>("noise: {} has no variation seeds; needed compat a1111, or none", name_of(compat));
  if (r.variation.strength > 0 && r.given) fail<UsageError>("noise: a variation of noise that is given; needed one of them");
}

Noise make_noise(Compat compat, const NoiseRequest& r, const Schedule& schedule) {
  check(compat, r);
  const auto given = [&](NoiseDraws otherwise) { return r.given ? given_draw(r.given) : std::move(otherwise); };
  const uint64_t apart = apart_of(r);
  const auto path = [&](Generators generators) {
    const auto [low, high] = span_of(schedule);
    return low < high ? torchsde_increments(r.seed, generators, low, high, apart) : NoiseIncrements();  // one level: no step in between
  };
  const auto varied = [&](NoiseDraws own, NoiseDraws other) {
    return r.variation.strength > 0 ? varied_draws(std::move(own), std::move(other), r.variation.strength) : own;
  };
  switch (compat) {
    case Compat::hearth:
    case Compat::diffusers: {
      EncodingDraws encodings = r.encodings;
      if (r.given) encodings = {.before = encodings.before + encodings.after};  // the given draw is not made between them
      Noise noise(
          varied(torch_draws(r.seed, generators_of(compat), encodings, apart), torch_draws(r.variation.seed, Generators::per_image)),
          octave_increments(r.seed, apart));
      return r.given ? noise_from(r.given, std::move(noise)) : noise;
    }
    case Compat::comfyui: {
      NoiseDraws first = r.first_image > 0 ? torch_indexed_draws(r.seed, r.first_image) : torch_draws(r.seed, Generators::one);
      return Noise(first_then(given(std::move(first)), torch_draws(r.seed + 1, Generators::one)), path(Generators::one));
    }
    case Compat::a1111: {
      const NoiseDraws own = varied(nv_draws(r.seed, apart), nv_draws(r.variation.seed));
      const NoiseDraws draws = r.eta_seed_delta == 0 ? first_replaced(given(own), own)
                                                     : first_then(given(own), nv_draws(r.seed + uint64_t(r.eta_seed_delta), apart));
      return Noise(draws, path(Generators::per_image));
    }
  }
  return {};
}

Tensor encoding_noise(Compat compat, const NoiseRequest& r, Backend& device, const Shape& shape, int64_t number) {
  if (compat == Compat::comfyui) return {};
  const bool follows = compat != Compat::a1111;
  return torch_encoding_draw(r.seed, generators_of(compat), r.encodings, device, shape, number, !follows || r.given, apart_of(r));
}

bool has_own_schedule(Compat compat, const Sampler& sampler) {
  if (compat != Compat::comfyui && compat != Compat::a1111) return false;
  if (sampler.name == "plms" && compat == Compat::comfyui) fail<UsageError>("sampler 'plms': ComfyUI has none; needed another");
  if (sampler.name == "ddim") return compat == Compat::comfyui;
  return sampler.name != "plms";
}

Schedule own_schedule(Compat compat, const SchedulerConfig& config, const Sampler& sampler, std::string_view schedule, int64_t steps,
                      std::string& name) {
  if (steps < 1) fail<UsageError>("steps: got {}, needed at least 1", steps);
  const SchedulerConfig of_sigma = config.with_class(SchedulerClass::euler);
  const auto table = std::make_shared<const NoiseTable>(of_sigma);
  const SigmaSchedule& chosen = find_own(compat, sampler, schedule);
  name = chosen.name;

  const bool drops = compat == Compat::comfyui ? sampler.drops_penultimate.comfyui : sampler.drops_penultimate.a1111;
  std::vector<double> sigmas = make_sigmas(chosen, ModelSigmas::exploding(table->sigmas), drops ? steps + 1 : steps);
  if (drops && sigmas.size() > 2) sigmas.erase(sigmas.end() - 2);
  for (double& sigma : sigmas) sigma = float(sigma);  // as these programs keep them

  Schedule s{.steps = {}, .prediction = of_sigma.prediction};
  s.path = {.times = compat == Compat::comfyui ? Times::nearest : Times::table, .table = table};
  for (size_t i = 0; i + 1 < sigmas.size(); ++i) {
    const Level here = s.path.at(sigmas[i]);
    s.steps.push_back({.at = here, .from = here, .to = sigmas[i + 1] > 0 ? s.path.at(sigmas[i + 1]) : Level::exploding(0, 0)});
  }
  const double first = sigmas.front(), most = table->sigmas.back();
  const bool whole = first > most || std::abs(first - most) <= 1e-5 * most;
  s.init_scale = float(compat == Compat::comfyui && whole ? std::sqrt(1 + first * first) : first);
  s.first_order_last = sigmas.back() == 0;
  return s;
}

}  // namespace hearth::sampling
