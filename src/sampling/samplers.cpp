#include "sampling/samplers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "ops/pointwise.h"
#include "sampling/names.h"

namespace hearth::sampling {
namespace {

// From one level to a less noisy one along the straight line that x and x̂₀ span, without fresh noise:
//   x' = α'·x̂₀ + σ'·ε  with  ε = (x − α·x̂₀)/σ
Tensor towards(const Tensor& x, const Tensor& x0, const Level& from, double alpha, double sigma) {
  const double keep = sigma / from.sigma;
  return ops::linear_combination({x, x0}, {float(keep), float(alpha - from.alpha * keep)});
}

Tensor add_noise(const Tensor& x, double sigma, Noise& noise) {
  if (sigma == 0) return x;
  return ops::linear_combination({x, noise(x.backend(), x.shape())}, {1, float(sigma)});
}

// min(max(x, -limit), limit), of x [...] f32.
Tensor clipped(const Tensor& x, double limit) {
  const float r = float(limit);
  const Tensor ones = Tensor::filled(x.backend(), x.shape(), 1);
  const Tensor above = ops::activate(ops::linear_combination({x, ones}, {1, r}), Activation::relu);           // x + r, from 0
  const Tensor below = ops::activate(ops::linear_combination({ones, above}, {2 * r, -1}), Activation::relu);  // r − x, from 0
  return ops::linear_combination({ones, below}, {r, -1});
}

// Karras et al. 2022 (arXiv 2206.00364), Algorithm 2 with Euler steps and no churn:
//   x' = x + (σ' − σ)·(x − x̂₀)/σ
Tensor euler(const Denoiser& denoise, Tensor x, const Schedule& schedule, Noise&, const SamplerOptions&, const OnStep& on_step) {
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const auto& [at, from, to] = schedule.steps[i];
    const Tensor x0 = denoise(x, at);
    x = towards(x, x0, from, to.alpha, to.sigma);
    on_step({int64_t(i), int64_t(schedule.steps.size()), at, x0, x});
  }
  return x;
}

// k-diffusion's ancestral form: the deterministic step goes down to σ_down, and noise of size σ_up brings the level back to σ'.
//   σ_up = min(σ', eta·√(σ'²(σ² − σ'²)/σ²)),  σ_down = √(σ'² − σ_up²)
Tensor euler_ancestral(const Denoiser& denoise, Tensor x, const Schedule& schedule, Noise& noise, const SamplerOptions& options,
                       const OnStep& on_step) {
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const auto& [at, from, to] = schedule.steps[i];
    const double ratio = to.sigma / from.sigma;
    const double up = std::min(to.sigma, *options.eta * to.sigma * std::sqrt(std::max(0.0, 1 - ratio * ratio)));
    const double down = std::sqrt(to.sigma * to.sigma - up * up);
    const Tensor x0 = denoise(x, at);
    x = add_noise(towards(x, x0, from, to.alpha, down), up * options.s_noise, noise);
    on_step({int64_t(i), int64_t(schedule.steps.size()), at, x0, x});
  }
  return x;
}

// Song, Meng & Ermon 2020 (arXiv 2010.02502), equations 12 and 16:
//   x' = α'·x̂₀ + √(σ'² − s²)·ε + s·noise,  s = eta·(σ'/σ)·√(1 − α²/α'²)
Tensor ddim(const Denoiser& denoise, Tensor x, const Schedule& schedule, Noise& noise, const SamplerOptions& options,
            const OnStep& on_step) {
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const auto& [at, from, to] = schedule.steps[i];
    const double ratio = from.alpha / to.alpha;
    const double fresh = *options.eta * to.sigma / from.sigma * std::sqrt(std::max(0.0, 1 - ratio * ratio));
    const double kept = std::sqrt(std::max(0.0, to.sigma * to.sigma - fresh * fresh));
    const Tensor x0 = denoise(x, at);
    if (schedule.clip) {  // ε stays that of the x̂₀ that was not clipped
      const Tensor noise_part = towards(x, x0, from, 0, kept);
      x = ops::linear_combination({noise_part, clipped(x0, *schedule.clip)}, {1, float(to.alpha)});
    } else {
      x = towards(x, x0, from, to.alpha, kept);
    }
    x = add_noise(x, fresh * options.s_noise, noise);
    on_step({int64_t(i), int64_t(schedule.steps.size()), at, x0, x});
  }
  return x;
}

// Lu et al. 2022 (arXiv 2211.01095), DPM-Solver++(2M), Algorithm 2. With λ = ln(α/σ), h = λ' − λ and r = h_last/h:
//   x' = (σ'/σ)·x − α'·(e⁻ʰ − 1)·D,  D = (1 + 1/(2r))·x̂₀ − 1/(2r)·x̂₀_last; at first, and where asked at last, D = x̂₀
Tensor dpmpp_2m(const Denoiser& denoise, Tensor x, const Schedule& schedule, Noise&, const SamplerOptions&, const OnStep& on_step) {
  Tensor last;
  double h_last = 0;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const auto& [at, from, to] = schedule.steps[i];
    const Tensor x0 = denoise(x, at);
    const double h = std::log(to.alpha / to.sigma) - std::log(from.alpha / from.sigma);  // infinite where σ' is 0
    const double keep = to.sigma / from.sigma, move = -to.alpha * std::expm1(-h);
    // A step of no length (more steps than timesteps to spread them over) tells no slope; the reference divides by zero there.
    if (!last || h_last == 0 || (schedule.first_order_last && i + 1 == schedule.steps.size())) {
      x = ops::linear_combination({x, x0}, {float(keep), float(move)});
    } else {
      const double extra = move * h / (2 * h_last);
      x = ops::linear_combination({x, x0, last}, {float(keep), float(move + extra), float(-extra)});
    }
    last = x0;
    h_last = h;
    on_step({int64_t(i), int64_t(schedule.steps.size()), at, x0, x});
  }
  return x;
}

// Liu et al. 2022 (arXiv 2202.09778), pseudo linear multistep as in Katherine Crowson's PLMS: Adams–Bashforth of order 4 on the
// network's answers, each step a DDIM step with the combined answer. The first step is done twice: with the answer at its start,
// then with the mean of the answers at its start and at its end.
Tensor plms(const Denoiser& denoise, Tensor x, const Schedule& schedule, Noise&, const SamplerOptions&, const OnStep& on_step) {
  std::vector<Tensor> history;  // newest first
  const Tensor start = x;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const auto& [at, from, to] = schedule.steps[i];
    const Tensor x0 = denoise(x, at);
    const Tensor answer = network_answer(x, x0, at, schedule.prediction);
    if (i != 1) history.insert(history.begin(), answer);
    if (history.size() > 4) history.pop_back();

    Tensor combined;
    if (i == 1) combined = ops::linear_combination({answer, history[0]}, {0.5f, 0.5f});
    else if (history.size() == 1) combined = answer;
    else if (history.size() == 2) combined = ops::linear_combination(history, std::array{3 / 2.f, -1 / 2.f});
    else if (history.size() == 3) combined = ops::linear_combination(history, std::array{23 / 12.f, -16 / 12.f, 5 / 12.f});
    else combined = ops::linear_combination(history, std::array{55 / 24.f, -59 / 24.f, 37 / 24.f, -9 / 24.f});

    const double turn = from.alpha * to.sigma - from.sigma * to.alpha;
    const auto [keep, move] = schedule.prediction == Prediction::v ? std::pair{from.alpha * to.alpha + from.sigma * to.sigma, turn}
                                                                   : std::pair{to.alpha / from.alpha, turn / from.alpha};
    x = ops::linear_combination({i == 1 ? start : x, combined}, {float(keep), float(move)});
    on_step({int64_t(i), int64_t(schedule.steps.size()), at, x0, x});
  }
  return x;
}

constexpr std::array<std::string_view, 3> ddim_aliases{"DDIM", "DDIMScheduler", "ddim_trailing"};
constexpr std::array<std::string_view, 4> euler_aliases{"Euler", "k_euler", "EulerDiscrete", "EulerDiscreteScheduler"};
constexpr std::array<std::string_view, 5> euler_ancestral_aliases{"Euler a", "k_euler_a", "k_euler_ancestral", "EulerAncestralDiscrete",
                                                                  "EulerAncestralDiscreteScheduler"};
constexpr std::array<std::string_view, 4> dpmpp_2m_aliases{"DPM++ 2M", "k_dpmpp_2m", "DPMSolverMultistep", "DPMSolverMultistepScheduler"};
constexpr std::array<std::string_view, 3> plms_aliases{"PLMS", "PNDM", "PNDMScheduler"};

constexpr std::array table{
    Sampler{"ddim", ddim_aliases, "DDIM; deterministic unless eta is given", SchedulerClass::ddim, 0.0, ddim},
    Sampler{"euler", euler_aliases, "Euler's method in sigma", SchedulerClass::euler, std::nullopt, euler},
    Sampler{"euler_ancestral", euler_ancestral_aliases, "Euler with fresh noise at each step", SchedulerClass::euler_ancestral, 1.0,
            euler_ancestral},
    Sampler{"dpmpp_2m", dpmpp_2m_aliases, "DPM-Solver++ of second order, multistep", SchedulerClass::dpmpp_multistep, std::nullopt,
            dpmpp_2m},
    Sampler{"plms", plms_aliases, "pseudo linear multistep (PNDM); one model call more than steps", SchedulerClass::pndm, std::nullopt,
            plms},
};

constexpr std::array<std::string_view, 46> known_samplers{"euler_cfg_pp",
                                                          "euler_ancestral_cfg_pp",
                                                          "heun",
                                                          "heunpp2",
                                                          "dpm_2",
                                                          "dpm_2_ancestral",
                                                          "lms",
                                                          "dpm_fast",
                                                          "dpm_adaptive",
                                                          "dpmpp_2s_ancestral",
                                                          "dpmpp_2s_ancestral_cfg_pp",
                                                          "dpmpp_sde",
                                                          "dpmpp_sde_gpu",
                                                          "dpmpp_2m_cfg_pp",
                                                          "dpmpp_2m_v2",
                                                          "dpmpp_2m_sde",
                                                          "dpmpp_2m_sde_gpu",
                                                          "dpmpp_2m_sde_heun",
                                                          "dpmpp_2m_sde_heun_gpu",
                                                          "dpmpp_3m_sde",
                                                          "dpmpp_3m_sde_gpu",
                                                          "ddpm",
                                                          "lcm",
                                                          "tcd",
                                                          "ipndm",
                                                          "ipndm_v",
                                                          "deis",
                                                          "res_multistep",
                                                          "res_multistep_ancestral",
                                                          "res_multistep_cfg_pp",
                                                          "res_multistep_ancestral_cfg_pp",
                                                          "res_2s",
                                                          "gradient_estimation",
                                                          "gradient_estimation_cfg_pp",
                                                          "er_sde",
                                                          "seeds_2",
                                                          "seeds_3",
                                                          "exp_heun_2_x0",
                                                          "exp_heun_2_x0_sde",
                                                          "sa_solver",
                                                          "sa_solver_pece",
                                                          "ddim_cfg_pp",
                                                          "uni_pc",
                                                          "uni_pc_bh2",
                                                          "restart",
                                                          "scm"};

std::string built_names() {
  std::string names;
  for (const Sampler& s : table) names += (names.empty() ? "" : ", ") + std::string(s.name);
  return names;
}

}  // namespace

std::span<const Sampler> samplers() { return table; }

const Sampler& find_sampler(std::string_view name) {
  const std::string wanted = folded(name);
  for (const Sampler& s : table) {
    if (folded(s.name) == wanted) return s;
    for (const std::string_view alias : s.aliases)
      if (folded(alias) == wanted) return s;
  }
  for (const std::string_view known : known_samplers)
    if (folded(known) == wanted) fail<UnsupportedError>("sampler '{}' is known but not built yet; built: {}", known, built_names());
  fail<UsageError>("sampler '{}' is unknown; known: {}", name, built_names());
}

const Sampler& sampler_of(SchedulerClass scheduler) {
  return *std::find_if(table.begin(), table.end(), [=](const Sampler& s) { return s.scheduler == scheduler; });
}

Tensor starting_point(const Schedule& schedule, const Tensor& noise) { return ops::linear_combination({noise}, {schedule.init_scale}); }

Tensor sample(const Sampler& sampler, const Denoiser& denoise, const Tensor& x, const Schedule& schedule, Noise& noise,
              const SamplerOptions& options, const OnStep& on_step) {
  if (options.eta && !sampler.eta)
    fail<UsageError>("sampler '{}' draws no noise: eta = {} has no meaning, needed none", sampler.name, *options.eta);
  if (options.eta && *options.eta < 0) fail<UsageError>("sampler '{}': eta is {}, needed at least 0", sampler.name, *options.eta);
  SamplerOptions resolved = options;
  if (!resolved.eta) resolved.eta = sampler.eta;
  return sampler.run(
      denoise, x, schedule, noise, resolved, on_step ? on_step : [](const StepInfo&) {});
}

}  // namespace hearth::sampling
