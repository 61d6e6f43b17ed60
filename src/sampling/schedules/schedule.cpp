#include "sampling/schedules/schedule.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "sampling/names.h"
#include "sampling/schedules/class_levels.h"

namespace hearth::sampling {
namespace {

using enum SchedulerClass;

bool is_flow(SchedulerClass c) { return c == flow_euler || c == flow_heun || c == flow_lcm || c == ltx_euler_ancestral; }
bool is_edm(SchedulerClass c) { return c == edm_euler || c == edm_dpm; }

// The largest number of steps that the class can take from its table; 0: no limit.
int64_t most_steps(const SchedulerConfig& c) {
  const int64_t N = c.num_train_timesteps;
  if (c.scheduler == lcm || c.scheduler == tcd) return std::min(N, c.original_steps);
  if (has_alpha_levels(c.scheduler) || c.scheduler == scm) return N;
  if (!has_sigma_levels(c.scheduler) || c.spacing == Spacing::linspace) return 0;
  const bool over_one_more = c.scheduler == dpmpp_multistep || c.scheduler == unipc || c.scheduler == deis || c.scheduler == sa_solver;
  if (over_one_more && c.curve != Curve::spacing) return 0;
  return over_one_more && c.spacing == Spacing::leading ? N - 1 : N;
}

void check_steps(const SchedulerConfig& c, int64_t n) {
  if (n < 1) fail<UsageError>("steps: got {}, expected at least 1", n);
  const int64_t most = most_steps(c);
  if (most > 0 && n > most)
    fail<UsageError>("steps: got {}, expected at most {}: here {} uses each of the {} training timesteps at most once", n, most,
                     name_of(c.scheduler), c.scheduler == lcm || c.scheduler == tcd ? c.original_steps : c.num_train_timesteps);
}

void check_signal(const Schedule& schedule) {
  if (schedule.prediction != Prediction::epsilon) return;
  for (const Step& step : schedule.steps)
    if (step.at.alpha == 0)
      fail<UnsupportedError>(
          "schedule: timestep {} has no signal (zero terminal SNR), so ε-prediction cannot recover x₀, expected v_prediction, sample or "
          "leading spacing",
          step.at.timestep);
}

void fill(Schedule& s, const SchedulerConfig& c, const ScheduleChoice& choice, int64_t n) {
  if (choice.drops_penultimate && c.scheduler == pndm)
    fail<UnsupportedError>(
        "schedule: plms cannot drop a level, because its weights require evenly spaced timesteps, expected another sampler");
  const bool list = choice.gives_sigmas();
  const bool by_sigma = list || (has_alpha_levels(c.scheduler) && c.curve != Curve::spacing);
  if (by_sigma && c.scheduler == pndm)
    fail<UnsupportedError>("schedule '{}' cannot be combined with plms, whose weights require evenly spaced timesteps, expected 'default'",
                           choice.name);
  if (choice.name != "default" && (c.scheduler == scm || c.scheduler == ipndm || c.scheduler == wuerstchen))
    fail<UnsupportedError>("schedule '{}' cannot be combined with {}, which has timesteps of its own, expected 'default'", choice.name,
                           name_of(c.scheduler));
  if (is_flow(c.scheduler)) return flow_levels(s, c, choice, n);
  if (is_edm(c.scheduler)) return edm_levels(s, c, choice, n);
  if (c.scheduler == scm) return trigflow_levels(s, c, n);
  if (c.scheduler == ipndm) return ipndm_levels(s, n);
  if (c.scheduler == wuerstchen) return wuerstchen_levels(s, c, n);
  if (has_alpha_levels(c.scheduler) && by_sigma) {
    SchedulerConfig sigma_form = c;  // its table has a finite σ at zero terminal SNR
    sigma_form.scheduler = dpmpp_multistep;
    return sigma_levels(s, sigma_form, NoiseTable(sigma_form), choice, n);
  }
  const NoiseTable table(c);
  if (has_alpha_levels(c.scheduler)) alpha_levels(s, c, table, n);
  else sigma_levels(s, c, table, choice, n);
}

constexpr std::array<std::string_view, 4> class_ways{"default", "leading", "trailing", "linspace"};

}  // namespace

std::vector<float> Schedule::timesteps() const {
  std::vector<float> t;
  for (const Step& step : steps) t.push_back(step.at.timestep);
  return t;
}

std::vector<float> Schedule::sigmas() const {
  std::vector<float> sigmas;
  for (const Step& step : steps) sigmas.push_back(float(path.coordinate(step.at)));
  if (!steps.empty()) sigmas.push_back(float(path.coordinate(steps.back().to)));
  return sigmas;
}

Values ScheduleChoice::make(const ModelSigmas& model, int64_t n) const {
  if (sigma) return make_sigmas(*sigma, model, n, options);
  if (int64_t(sigmas.size()) != n + 1)
    fail<UsageError>("sigmas: {} values make {} steps, expected {} steps", sigmas.size(), sigmas.size() - 1, n);
  check_sigmas(sigmas, model.family, true);
  return sigmas;
}

std::string ScheduleChoice::text() const {
  if (!sigmas.empty()) return fmt::format("sigmas:{}", fmt::join(sigmas, ","));
  std::vector<std::string> all;
  for (const auto& [option, value] : options) all.push_back(fmt::format("{}={}", option, value));
  return all.empty() ? name : fmt::format("{}:{}", name, fmt::join(all, ","));
}

std::span<const ScheduleName> schedule_names() {
  static const std::vector<ScheduleName> all = [] {
    std::vector<ScheduleName> names{{"default", {}, "what the checkpoint's scheduler configuration says"},
                                    {"automatic", {}, "the sampler's own (hearth list samplers), else default"},
                                    {"leading", {}, "the configuration's way, timesteps counted from the clean end"},
                                    {"trailing", {}, "the configuration's way, timesteps counted from the noisy end"},
                                    {"linspace", {}, "the configuration's way, both ends included"}};
    for (const SigmaSchedule& s : sigma_schedules()) names.push_back({s.name, {s.aliases.begin(), s.aliases.end()}, s.summary});
    return names;
  }();
  return all;
}

ScheduleChoice find_schedule(std::string_view name, const ScheduleOptions& options, Form form) {
  const std::string wanted = folded(name);
  if (std::ranges::find(class_ways, wanted) != class_ways.end()) {
    if (!options.empty()) fail<UsageError>("schedule {}: option '{}' is unknown, expected none", wanted, options.begin()->first);
    ScheduleChoice choice{.name = wanted};
    if (wanted == "leading") choice.spacing = Spacing::leading;
    if (wanted == "trailing") choice.spacing = Spacing::trailing;
    if (wanted == "linspace") choice.spacing = Spacing::linspace;
    return choice;
  }
  const SigmaSchedule* sigma = find_sigma_schedule(name);
  if (!sigma) {
    std::vector<std::string_view> known;
    for (const ScheduleName& s : schedule_names()) known.push_back(s.name);
    fail<UsageError>("schedule '{}' is unknown, expected one of {}", name, fmt::join(known, ", "));
  }
  ScheduleChoice choice{.name = std::string(sigma->name)};
  if (form == Form::diffusers && options.empty()) {
    if (sigma->name == "karras") choice.curve = Curve::karras;
    if (sigma->name == "exponential") choice.curve = Curve::exponential;
    if (sigma->name == "beta_a1111") choice.curve = Curve::beta;
    if (choice.curve) return choice;
  }
  choice.sigma = sigma;
  choice.options = options;
  return choice;
}

ScheduleChoice given_sigmas(Values sigmas, SigmaFamily family, bool open_end) {
  check_sigmas(sigmas, family, open_end);
  return {.name = "sigmas", .sigmas = std::move(sigmas)};
}

Schedule make_schedule(const SchedulerConfig& config, const ScheduleChoice& choice, int64_t n) {
  SchedulerConfig c = config;
  if (choice.spacing) c.spacing = *choice.spacing, c.curve = Curve::spacing;
  if (choice.curve) c.curve = *choice.curve;
  if (!choice.gives_sigmas()) {
    SchedulerConfig counted = c;  // along a curve DDIM's σ are not tied to timesteps, as in DPM++
    if (has_alpha_levels(c.scheduler) && c.curve != Curve::spacing) counted.scheduler = dpmpp_multistep;
    check_steps(counted, n);
  } else if (n < 1) {
    fail<UsageError>("steps: got {}, expected at least 1", n);
  }
  Schedule s;
  s.prediction = c.prediction;
  s.sigma_data = c.sigma_data;
  s.clip = c.clip;
  s.thresholding = c.thresholding;
  s.disabled_correctors = c.disabled_correctors;
  s.scheduler = c.scheduler;
  s.solver = c.solver;
  const bool drops = choice.drops_penultimate && choice.sigmas.empty();
  fill(s, c, choice, n + (drops ? 1 : 0));
  if (drops && s.steps.size() > 1) {
    const Level end = s.steps.back().to;
    s.steps.pop_back();
    s.steps.back().to = end;
  }
  if (c.scheduler == dpmpp_multistep) {
    const bool zero = s.steps.back().to.sigma == 0;
    s.first_order_last = c.euler_at_final || zero || (c.lower_order_final && s.steps.size() < 15);
  }
  check_signal(s);
  return s;
}

}  // namespace hearth::sampling
