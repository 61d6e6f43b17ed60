#include "sampling/schedules/noise_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sampling/schedules/spacing.h"

namespace hearth::sampling {
namespace {

// Nichol & Dhariwal 2021 (arXiv 2102.09672), equation 17, with β capped at 0.999; exp and laplace in the same way.
std::vector<float> betas_of_alpha_bar(BetaSchedule kind, int64_t n) {
  const auto alpha_bar = [=](double t) {
    if (kind == BetaSchedule::exp) return std::exp(-12 * t);
    if (kind == BetaSchedule::squaredcos_cap_v2) return std::pow(std::cos((t + 0.008) / 1.008 * std::numbers::pi / 2), 2);
    const double snr = std::exp(-0.5 * std::copysign(1, 0.5 - t) * std::log(1 - 2 * std::abs(0.5 - t) + 1e-6));
    return std::sqrt(snr / (1 + snr));
  };
  std::vector<float> betas;
  for (int64_t i = 0; i < n; ++i)
    betas.push_back(float(std::min(1 - alpha_bar(double(i + 1) / double(n)) / alpha_bar(double(i) / double(n)), 0.999)));
  return betas;
}

std::vector<float> training_betas(const SchedulerConfig& c) {
  if (!c.trained_betas.empty()) return {c.trained_betas.begin(), c.trained_betas.end()};
  switch (c.beta_schedule) {
    case BetaSchedule::linear: return linspace_f32(c.beta_start, c.beta_end, c.num_train_timesteps);
    case BetaSchedule::scaled_linear: {
      std::vector<float> betas = linspace_f32(std::sqrt(c.beta_start), std::sqrt(c.beta_end), c.num_train_timesteps);
      for (float& b : betas) b *= b;
      return betas;
    }
    case BetaSchedule::sigmoid: {
      std::vector<float> betas = linspace_f32(-6, 6, c.num_train_timesteps);
      for (float& b : betas) b = 1 / (1 + std::exp(-b)) * float(c.beta_end - c.beta_start) + float(c.beta_start);
      return betas;
    }
    default: return betas_of_alpha_bar(c.beta_schedule, c.num_train_timesteps);
  }
  return {};
}

std::vector<float> cumulative_products(std::span<const float> alphas) {
  std::vector<float> products;
  double product = 1;
  for (const float a : alphas) products.push_back(float(product *= double(a)));
  return products;
}

// Lin et al. 2023 (arXiv 2305.08891), Algorithm 1: √ᾱ is shifted so that the last is 0 and scaled so that the first is unchanged.
// Returns the new α.
std::vector<float> zero_terminal_snr(std::span<const float> alphas) {
  std::vector<float> roots = cumulative_products(alphas);
  for (float& r : roots) r = std::sqrt(r);
  const float first = roots.front(), last = roots.back(), stretch = first / (first - last);
  for (float& r : roots) r = (r - last) * stretch;
  for (float& r : roots) r *= r;
  std::vector<float> out{roots.front()};
  for (size_t i = 1; i < roots.size(); ++i) out.push_back(roots[i] / roots[i - 1]);
  return out;
}

}  // namespace

std::vector<float> linspace_f32(double a, double b, int64_t n) {
  if (n == 1) return {float(a)};
  const float from = float(a), to = float(b), step = (to - from) / float(n - 1);
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(i < n / 2 ? std::fma(step, float(i), from) : std::fma(-step, float(n - 1 - i), to));
  return values;
}

namespace {

// Only these classes need σ of all entries.
bool has_finite_sigmas(SchedulerClass c) {
  using enum SchedulerClass;
  return c == euler || c == euler_ancestral || c == dpmpp_multistep || c == unipc;
}

// CogVideoX in f64: the signal-to-noise ratio divided by a factor, and zero terminal SNR on ᾱ itself.
std::vector<float> cogvideox_table(const SchedulerConfig& c) {
  std::vector<double> bars;
  double product = 1;
  const bool wide = c.beta_schedule == BetaSchedule::scaled_linear && c.trained_betas.empty();
  const Values roots = linspace(std::sqrt(c.beta_start), std::sqrt(c.beta_end), c.num_train_timesteps);
  const std::vector<float> betas = training_betas(c);
  for (size_t i = 0; i < betas.size(); ++i) {
    product *= wide ? 1 - roots[i] * roots[i] : double(1 - betas[i]);
    bars.push_back(product / (c.snr_shift + (1 - c.snr_shift) * product));
  }
  if (c.rescale_betas_zero_snr) {
    const double first = std::sqrt(bars.front()), last = std::sqrt(bars.back()), stretch = first / (first - last);
    for (double& a : bars) a = std::pow((std::sqrt(a) - last) * stretch, 2);
  }
  return {bars.begin(), bars.end()};
}

}  // namespace

NoiseTable::NoiseTable(const SchedulerConfig& config) {
  if (config.scheduler == SchedulerClass::cogvideox_ddim || config.scheduler == SchedulerClass::cogvideox_dpm) {
    fill(cogvideox_table(config));
    return;
  }
  std::vector<float> alphas = training_betas(config);
  for (float& a : alphas) a = 1 - a;
  if (config.rescale_betas_zero_snr) alphas = zero_terminal_snr(alphas);
  std::vector<float> bars = cumulative_products(alphas);
  if (config.rescale_betas_zero_snr && has_finite_sigmas(config.scheduler)) bars.back() = 0x1p-24f;
  fill(std::move(bars));
}

void NoiseTable::fill(std::vector<float> bars) {
  alphas_cumprod = std::move(bars);
  for (const float a : alphas_cumprod) {
    sigmas.push_back(std::sqrt((1 - a) / a));
    log_sigmas.push_back(std::log(sigmas.back()));
  }
}

double NoiseTable::sigma_at(double timestep) const {
  if (timestep <= 0) return double(sigmas.front());
  if (timestep >= double(size() - 1)) return double(sigmas.back());
  const size_t low = size_t(timestep);
  const double slope = double(sigmas[low + 1]) - double(sigmas[low]);
  return slope * (timestep - double(low)) + double(sigmas[low]);
}

double NoiseTable::timestep_of(double sigma) const {
  if (size() == 1) return 0;
  const float log_sigma = float(std::log(sigma));  // f32 from here on, as under numpy 1
  const auto above = std::upper_bound(log_sigmas.begin(), log_sigmas.end(), log_sigma);
  const int64_t low = std::clamp<int64_t>(above - log_sigmas.begin() - 1, 0, size() - 2);
  const float from = log_sigmas[size_t(low)], to = log_sigmas[size_t(low) + 1];
  const float high_part = std::clamp((from - log_sigma) / (from - to), 0.f, 1.f);
  return double(1 - high_part) * double(low) + double(high_part) * double(low + 1);
}

}  // namespace hearth::sampling
