#include "sampling/schedules/spacing.h"

#include <algorithm>
#include <cmath>

namespace hearth::sampling {
namespace {

template <class F> Values each(Values values, const F& f) {
  for (double& v : values) v = f(v);
  return values;
}

Values leading(int64_t train, int64_t n, int64_t offset) {
  Values t;
  const int64_t ratio = train / n;
  for (int64_t i = n - 1; i >= 0; --i) t.push_back(double(i * ratio + offset));
  return t;
}

Values trailing(int64_t first, double ratio) {
  Values t;
  const double start = double(first), step = (start - ratio) - start;  // like numpy.arange, whose step is rounded by the sum
  const auto count = int64_t(std::ceil(-start / -ratio));
  for (int64_t i = 0; i < count; ++i) t.push_back(std::nearbyint(start + double(i) * step) - 1);
  while (!t.empty() && t.back() < 0) t.pop_back();
  return t;
}

Values linspace_downwards(int64_t train, int64_t n) {
  Values t = linspace(0, double(train - 1), n);
  std::reverse(t.begin(), t.end());
  return t;
}

}  // namespace

Values linspace(double from, double to, int64_t n) {
  Values values;
  const double step = n > 1 ? (to - from) / double(n - 1) : 0;
  for (int64_t i = 0; i < n; ++i) values.push_back(double(i) * step + from);
  if (n > 1) values.back() = to;
  return values;
}

Values rounded(Values values) {
  return each(std::move(values), [](double v) { return std::nearbyint(v); });
}

Values whole_part(Values values) {
  return each(std::move(values), [](double v) { return std::trunc(v); });
}

Values as_f32(Values values) {
  return each(std::move(values), [](double v) { return double(float(v)); });
}

Values spaced_timesteps(const SchedulerConfig& c, int64_t n) {
  switch (c.spacing) {
    case Spacing::leading: return leading(c.num_train_timesteps, n, c.steps_offset);
    case Spacing::trailing: return trailing(c.num_train_timesteps, double(c.num_train_timesteps) / double(n));
    case Spacing::linspace: return linspace_downwards(c.num_train_timesteps, n);
  }
  return {};
}

Values spaced_over_one_more(const SchedulerConfig& c, const NoiseTable& table, int64_t n) {
  // In f32, as in the reference: alpha_bar → ln √ᾱ − ln √(1 − ᾱ).
  const auto log_snr = [](float a) { return std::log(std::sqrt(a)) - std::log(std::sqrt(1 - a)); };
  const auto& bars = table.alphas_cumprod;
  auto last = int64_t(std::count_if(bars.begin(), bars.end(), [&](float a) { return double(log_snr(a)) >= c.lambda_min_clipped; }));
  if (c.spacing == Spacing::trailing) return trailing(last, double(c.num_train_timesteps) / double(n));
  Values t = c.spacing == Spacing::leading ? leading(last, n + 1, c.steps_offset) : rounded(linspace_downwards(last, n + 1));
  t.pop_back();
  return t;
}

}  // namespace hearth::sampling
