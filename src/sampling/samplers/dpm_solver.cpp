#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "sampling/steps/ancestral.h"
#include "sampling/steps/multistep.h"

namespace hearth::sampling {
namespace {

// Lu et al. 2022 (arXiv 2206.00927), DPM-Solver-1, -2 and -3 on ε = (x − x̂₀)/σ, in t = −ln σ.
struct Solver {
  const Run& run;

  Tensor eps(const Tensor& x, double t) const {
    const Level at = run.schedule.path.at(std::exp(-t));
    return slope(x, run.denoise(x, at).x0, at.sigma);
  }
  // The same within a step.
  Tensor inner_eps(const Tensor& x, double t) const { return eps(run.between_calls(x, run.schedule.path.at(std::exp(-t))), t); }
  static Tensor first(const Tensor& x, double t, double t_next, const Tensor& eps_0) {
    return combine({x, eps_0}, {1, -std::exp(-t_next) * std::expm1(t_next - t)});
  }
  // eps_1 at t + r·h.
  static Tensor second(const Tensor& x, double t, double t_next, const Tensor& eps_0, const Tensor& eps_1, double r) {
    const double move = -std::exp(-t_next) * std::expm1(t_next - t), extra = move / (2 * r);
    return combine({x, eps_0, eps_1}, {1, move - extra, extra});
  }
  // eps_1 at a third of the step, from which ε at two thirds is computed.
  Tensor third(const Tensor& x, double t, double t_next, const Tensor& eps_0, const Tensor& eps_1) const {
    const double h = t_next - t, r_1 = 1 / 3., r_2 = 2 / 3., t_2 = t + r_2 * h;
    const double move = -std::exp(-t_2) * std::expm1(r_2 * h);
    const double extra = -std::exp(-t_2) * (r_2 / r_1) * (std::expm1(r_2 * h) / (r_2 * h) - 1);
    const Tensor eps_2 = inner_eps(combine({x, eps_0, eps_1}, {1, move - extra, extra}), t_2);
    const double end_move = -std::exp(-t_next) * std::expm1(h), end_extra = -std::exp(-t_next) / r_2 * (std::expm1(h) / h - 1);
    return combine({x, eps_0, eps_2}, {1, end_move - end_extra, end_extra});
  }
};

// The noise of a step from t to t_next: the end of the deterministic part, and the standard deviation of the step noise.
std::pair<double, double> split_of(double t, double t_next, double t_end, double eta) {
  if (eta == 0) return {t_next, 0};
  const double sigma_next = std::exp(-t_next);
  const double down = std::min(t_end, -std::log(exploding_split(std::exp(-t), sigma_next, eta).down));
  return {down, std::sqrt(std::max(0.0, sigma_next * sigma_next - std::exp(-2 * down)))};
}

Tensor add_noise(const Run& run, const Tensor& x, double size, double t, double t_next) {
  return run.add_noise_between(x, run.option("s_noise") * size, std::exp(-t), std::exp(-t_next));
}

// The ends of the run: those that the schedule states, or its first σ and the last above 0.
std::pair<double, double> ends(const Schedule& schedule, std::string_view name) {
  if (schedule.ends) return {schedule.ends->from, schedule.ends->to};
  const double first = schedule.steps.front().from.sigma;
  const Step& last = schedule.steps.back();
  const double least = last.to.sigma > 0 ? last.to.sigma : last.from.sigma;
  if (!(least < first)) fail<UsageError>("sampler '{}': got {} step, expected at least 2", name, schedule.steps.size());
  return {first, least};
}

// As many denoiser calls as the schedule has steps: intervals of equal length in t with steps of order 3, the last ones of order 2 and 1
// or of the remaining order. Ends at the last σ above 0.
Schedule fast_plan(const Schedule& schedule, const Options&) {
  const auto [first, least] = ends(schedule, "dpm_fast");
  const int64_t n = schedule.ends ? schedule.ends->steps : int64_t(schedule.steps.size()), m = n / 3 + 1;
  Schedule plan = schedule;
  plan.steps.clear();
  const double from = -std::log(first), h = (-std::log(least) - from) / double(m);
  for (int64_t i = 0; i < m; ++i) {
    const Level at = plan.path.at(std::exp(-(from + double(i) * h)));
    plan.steps.push_back({at, at, plan.path.at(std::exp(-(from + double(i + 1) * h)))});
    const int64_t left = m - 1 - i;
    plan.orders.push_back(n % 3 != 0 ? (left > 0 ? 3 : int(n % 3)) : (left > 1 ? 3 : left > 0 ? 2 : 1));
  }
  return plan;
}

void fast_step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const double t = -std::log(from.sigma), t_next = -std::log(to.sigma);
  const double t_end = -std::log(run.schedule.steps.back().to.sigma);
  const auto [down, up] = split_of(t, t_next, t_end, run.option("eta"));
  const Solver solver{run};
  const Tensor eps_0 = solver.eps(s.x, t);
  Tensor x;
  if (const int order = run.schedule.orders[size_t(s.step)]; order == 1) {
    x = Solver::first(s.x, t, down, eps_0);
  } else {
    const double r = order == 2 ? 1 / 2. : 1 / 3., t_1 = t + r * (down - t);
    const Tensor eps_1 = solver.inner_eps(Solver::first(s.x, t, t_1, eps_0), t_1);
    x = order == 2 ? Solver::second(s.x, t, down, eps_0, eps_1, r) : solver.third(s.x, t, down, eps_0, eps_1);
  }
  s.x = add_noise(run, x, up, t, t_next);
}

// Step sizes by a PID controller on the difference of two orders (Jolicoeur-Martineau et al. 2021, arXiv 2105.14080, with a third
// term). Each step is one attempt. Memory: t, the step size, the last three 1/error; history: the lower order's result of the last
// accepted step. The error is that of the whole batch.
enum { at_time, step_size, errors };

void adaptive_step(State& s, const Run& run) {
  const auto [first, least] = ends(run.schedule, "dpm_adaptive");
  const double t_end = -std::log(least), order = run.option("order"), eta = run.option("eta");
  if (s.memory.empty()) {
    s.memory = {-std::log(first), run.option("h_init")};
    s.history = {s.x};
  }
  std::vector<double>& m = s.memory;
  const double t = m[at_time], t_next = std::min(t_end, t + m[step_size]);
  const auto [down, up] = split_of(t, t_next, t_end, eta);
  const Solver solver{run};
  const double r = order == 2 ? 1 / 2. : 1 / 3., t_1 = t + r * (down - t);
  const Tensor eps_0 = solver.eps(s.x, t);
  const Tensor eps_1 = solver.eps(Solver::first(s.x, t, t_1, eps_0), t_1);
  const Tensor second = Solver::second(s.x, t, down, eps_0, eps_1, r);
  const Tensor low = order == 2 ? Solver::first(s.x, t, down, eps_0) : second;
  const Tensor high = order == 2 ? second : solver.third(s.x, t, down, eps_0, eps_1);

  const double inverse = 1 / (relative_rms(low, high, s.history[0], run.option("atol"), run.option("rtol")) + 1e-8);
  if (m.size() == errors) m.insert(m.end(), 3, inverse);
  m[errors] = inverse;
  const double p = run.option("pcoeff"), i = run.option("icoeff"), d = run.option("dcoeff"), of = eta > 0 ? 1.5 : order;
  const double factor =
      std::pow(m[errors], (p + i + d) / of) * std::pow(m[errors + 1], -(p + 2 * d) / of) * std::pow(m[errors + 2], d / of);
  const double limited = 1 + std::atan(factor - 1);
  if (limited >= run.option("accept_safety")) {
    m[errors + 2] = m[errors + 1], m[errors + 1] = m[errors];
    s.x = add_noise(run, high, up, t, t_next);
    s.history = {low};
    m[at_time] = t_next;
  }
  m[step_size] *= limited;
  s.done = m[at_time] >= t_end - 1e-5;
}

std::vector<Option> adaptive_options() {
  std::vector<Option> all = {
      {.name = "order", .summary = "of the solver whose result is kept", .standard = 3, .least = 2, .most = 3, .whole = true},
      {.name = "rtol", .summary = "relative tolerance", .standard = 0.05, .least = 1e-6},
      {.name = "atol", .summary = "absolute tolerance", .standard = 0.0078, .least = 1e-6},
      {.name = "h_init", .summary = "first step, in ln(sigma)", .standard = 0.05, .least = 1e-4, .most = 10},
      {.name = "pcoeff", .summary = "proportional term of the step control", .standard = 0},
      {.name = "icoeff", .summary = "integral term", .standard = 1},
      {.name = "dcoeff", .summary = "differential term", .standard = 0},
      {.name = "accept_safety", .summary = "an attempt is accepted if its step factor is at least this", .standard = 0.81, .most = 1}};
  for (Option& o : noise_options(0)) all.push_back(o);
  return all;
}

}  // namespace

std::vector<Sampler> dpm_solver_rows() {
  return {{.name = "dpm_fast",
           .aliases = {"DPM fast", "k_dpm_fast"},
           .summary = "DPM-Solver of orders 3, 2 and 1 on its own grid",
           .order = 3,
           .draws = Draws::on_request,
           .options = noise_options(0),
           .programs = {.comfyui = true, .a1111 = true},
           .a1111_levels = A1111Levels::ends,
           .in_a1111 = {{"eta", 1}},
           .scheduler = SchedulerClass::euler,
           .step = fast_step,
           .prepare = fast_plan},
          {.name = "dpm_adaptive",
           .aliases = {"DPM adaptive", "k_dpm_ad", "k_dpm_adaptive"},
           .summary = "DPM-Solver with adaptive steps; uses only the ends of the schedule",
           .order = 3,
           .calls = "3 per attempt",
           .draws = Draws::on_request,
           .options = adaptive_options(),
           .programs = {.comfyui = true, .a1111 = true},
           .a1111_levels = A1111Levels::ends,
           .in_a1111 = {{"eta", 1}},
           .scheduler = SchedulerClass::euler,
           .step = adaptive_step,
           .ends_itself = true}};
}

}  // namespace hearth::sampling
