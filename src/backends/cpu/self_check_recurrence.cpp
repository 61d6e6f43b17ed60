#include <algorithm>

#include "backends/cpu/self_check_values.h"

namespace hearth::cpu {
namespace {

// Channels of one register and a part, tokens of which the last is alone.
constexpr int64_t tokens = 3, states = 5;

void check_selective_scan(const Kernels& kernel) {
  const int64_t channels = kernel.lanes + 3;
  const auto x = values(tokens * channels), b = values(tokens * states, 3), c = values(tokens * states, 5), d = values(channels, 7);
  auto dt = values(tokens * channels, 1), a = values(states * channels, 2);
  for (float& v : dt) v = std::abs(v);
  for (float& v : a) v = -std::abs(v);
  const auto start = values(states * channels, 4);
  auto state = start;
  std::vector<float> y(x.size()), scratch(size_t(2 * states * kernel.lanes));
  kernel.selective_scan({.tokens = tokens,
                         .states = states,
                         .channels = channels,
                         .x = x.data(),
                         .dt = dt.data(),
                         .x_stride = channels,
                         .dt_stride = channels,
                         .b = b.data(),
                         .c = c.data(),
                         .b_stride = states,
                         .c_stride = states,
                         .a = a.data(),
                         .state = state.data(),
                         .state_stride = channels,
                         .d = d.data(),
                         .y = y.data(),
                         .y_stride = channels,
                         .scratch = scratch.data()});
  std::vector<double> own(start.begin(), start.end());
  for (int64_t i = 0; i < channels; ++i)
    for (int64_t t = 0; t < tokens; ++t) {
      const double in = x[size_t(t * channels + i)], step = dt[size_t(t * channels + i)];
      double sum = d[size_t(i)] * in;
      for (int64_t s = 0; s < states; ++s) {
        double& h = own[size_t(s * channels + i)];
        h = std::exp(step * a[size_t(s * channels + i)]) * h + step * in * b[size_t(t * states + s)];
        sum += h * c[size_t(t * states + s)];
      }
      expect("selective scan", y[size_t(t * channels + i)], sum);
    }
  for (size_t i = 0; i < own.size(); ++i) expect("state of a selective scan", state[i], own[i]);
}

void check_state_space_scan(const Kernels& kernel) {
  for (const int64_t columns : {2 * kernel.lanes, kernel.lanes + 3, kernel.lanes - 1}) {
    const auto x = values(tokens * columns), b = values(tokens * states, 3), c = values(tokens * states, 5);
    const std::vector<float> step{0.5f, 2, 1}, decay{0.25f, 1, 0.5f};
    const auto start = values(states * columns, 4);
    auto state = start;
    std::vector<float> y(x.size());
    kernel.state_space_scan({.tokens = tokens,
                             .states = states,
                             .columns = columns,
                             .x = x.data(),
                             .x_stride = columns,
                             .step = step.data(),
                             .decay = decay.data(),
                             .step_stride = 1,
                             .b = b.data(),
                             .c = c.data(),
                             .b_stride = states,
                             .c_stride = states,
                             .state = state.data(),
                             .state_stride = columns,
                             .d = 0.75f,
                             .y = y.data(),
                             .y_stride = columns});
    std::vector<double> own(start.begin(), start.end());
    for (int64_t i = 0; i < columns; ++i)
      for (int64_t t = 0; t < tokens; ++t) {
        const double in = x[size_t(t * columns + i)];
        double sum = 0.75 * in;
        for (int64_t s = 0; s < states; ++s) {
          double& h = own[size_t(s * columns + i)];
          h = decay[size_t(t)] * h + step[size_t(t)] * in * b[size_t(t * states + s)];
          sum += h * c[size_t(t * states + s)];
        }
        expect("state-space scan", y[size_t(t * columns + i)], sum);
      }
    for (size_t i = 0; i < own.size(); ++i) expect("state of a state-space scan", state[i], own[i]);
  }
  auto limited = values(kernel.lanes + 3);
  const auto before = limited;
  kernel.clamp(limited.data(), kernel.lanes + 3, -0.5f, 1);
  for (size_t i = 0; i < limited.size(); ++i) expect("clamped value", limited[i], std::min(1.0f, std::max(-0.5f, before[i])), 0);
}

}  // namespace

void check_recurrences(const Kernels& kernel) {
  check_selective_scan(kernel);
  check_state_space_scan(kernel);
}

}  // namespace hearth::cpu
