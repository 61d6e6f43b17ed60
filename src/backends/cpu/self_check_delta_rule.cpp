#include <algorithm>

#include "backends/cpu/self_check_values.h"

namespace hearth::cpu {
namespace {

using Kind = DeltaRuleScan::Kind;

// Two tokens and five keys; columns of two registers and a part. One decay for each key, or for all.
void check_rule(const Kernels& kernel, Kind kind, bool before, int64_t step) {
  constexpr int64_t tokens = 2, keys = 5;
  const int64_t columns = 2 * kernel.lanes + 3;
  const auto q = values(tokens * keys), k = values(tokens * keys, 3), a = values(tokens * keys, 5), b = values(tokens * keys, 9),
             v = values(tokens * columns, 7), start = values(keys * columns, 4);
  auto decay = values(tokens * keys, 2);
  for (float& d : decay) d = std::abs(d) / 2;
  const std::vector<float> beta{0.5f, 1.5f};
  auto state = start;
  std::vector<float> y(v.size()), scratch(size_t(keys * 4 * kernel.lanes));
  kernel.delta_rule({.kind = kind,
                     .reads_before = before,
                     .tokens = tokens,
                     .keys = keys,
                     .columns = columns,
                     .q = q.data(),
                     .k = k.data(),
                     .k_stride = keys,
                     .v = v.data(),
                     .v_stride = columns,
                     .decay = decay.data(),
                     .decay_stride = keys,
                     .decay_step = step,
                     .beta = beta.data(),
                     .beta_stride = 1,
                     .a = a.data(),
                     .b = b.data(),
                     .a_stride = keys,
                     .state = state.data(),
                     .state_stride = columns,
                     .y = y.data(),
                     .y_stride = columns,
                     .scratch = scratch.data()});
  for (int64_t i = 0; i < columns; ++i) {
    double s[keys];
    for (int64_t j = 0; j < keys; ++j) s[j] = start[size_t(j * columns + i)];
    for (int64_t t = 0; t < tokens; ++t) {
      const auto at = [&](const std::vector<float>& x, int64_t j) { return double(x[size_t(t * keys + j)]); };
      const auto kept = [&](int64_t j) { return double(decay[size_t(t * keys + j * step)]) * s[j]; };
      double in = v[size_t(t * columns + i)], seen = 0, sum = 0;
      for (int64_t j = 0; j < keys; ++j) seen += kind == Kind::ab ? at(a, j) * s[j] : at(k, j) * kept(j);
      if (kind == Kind::beta) in = beta[size_t(t)] * (in - seen);
      for (int64_t j = 0; j < keys; ++j) {
        const double now = kept(j) + at(k, j) * in + (kind == Kind::ab ? at(b, j) * seen : 0);
        sum += at(q, j) * (before ? s[j] : now);
        s[j] = now;
      }
      expect("delta rule", y[size_t(t * columns + i)], sum);
    }
    for (int64_t j = 0; j < keys; ++j) expect("state of a delta rule", state[size_t(j * columns + i)], s[j]);
  }
}

void check_sums_and_scan(const Kernels& kernel) {
  const int64_t n = kernel.lanes + 3;
  const auto base = values(n), q = values(n, 2), k = values(n, 3), u = values(n, 5), v = values(n, 7);
  std::vector<float> y(static_cast<size_t>(2 * n));
  kernel.add_weighted(base.data(), q.data(), k.data(), u.data(), n, v.data(), n, y.data());
  double weight = 0;
  for (size_t i = 0; i < size_t(n); ++i) weight += double(q[i]) * k[i] * u[i];
  for (size_t i = 0; i < size_t(n); ++i) expect("weighted values", y[i], base[i] + weight * v[i]);

  const auto x = values(2 * n, 4), start = values(n, 6);
  auto log_a = values(2 * n, 8), state = start;
  for (float& g : log_a) g = -std::abs(g);
  kernel.gated_scan(x.data(), log_a.data(), 2, n, n, true, state.data(), y.data());
  for (int64_t i = 0; i < n; ++i) {
    double h = start[size_t(i)];
    for (int64_t t = 0; t < 2; ++t) {
      const double g = log_a[size_t(t * n + i)];
      h = std::exp(g) * h + (t == 0 ? 1 : std::sqrt(-std::expm1(2 * g))) * x[size_t(t * n + i)];
      expect("gated scan", y[size_t(t * n + i)], h);
    }
    expect("state of a gated scan", state[size_t(i)], h);
  }
}

// Columns of two registers and a part; more tokens than are added up at once.
void check_linear_attention(const Kernels& kernel) {
  constexpr int64_t tokens = 300, queries = 2, keys = 5;
  const int64_t columns = 2 * kernel.lanes + 3;
  auto q = values(queries * keys), k = values(tokens * keys, 3);
  for (std::vector<float>* x : {&q, &k})
    for (float& e : *x) e = std::abs(e);
  const auto v = values(tokens * columns, 7);
  std::vector<float> y(size_t(queries * columns)), scratch(size_t(2 * keys * (4 * kernel.lanes + 1)));
  kernel.linear_attention({.queries = queries,
                           .tokens = tokens,
                           .keys = keys,
                           .columns = columns,
                           .q = q.data(),
                           .q_stride = keys,
                           .k = k.data(),
                           .k_stride = keys,
                           .v = v.data(),
                           .v_stride = columns,
                           .eps = 0.5f,
                           .y = y.data(),
                           .y_stride = columns,
                           .scratch = scratch.data()});
  for (int64_t t = 0; t < queries; ++t)
    for (int64_t c = 0; c < columns; ++c) {
      double sum = 0, weights = 0.5;
      for (int64_t s = 0; s < tokens; ++s) {
        double weight = 0;
        for (int64_t j = 0; j < keys; ++j) weight += double(q[size_t(t * keys + j)]) * k[size_t(s * keys + j)];
        sum += weight * v[size_t(s * columns + c)], weights += weight;
      }
      expect("linear attention", y[size_t(t * columns + c)], sum / weights);
    }
}

}  // namespace

void check_delta_rule(const Kernels& kernel) {
  for (const Kind kind : {Kind::plain, Kind::beta, Kind::ab})
    for (const bool before : {false, true})
      for (const int64_t step : {0, 1}) check_rule(kernel, kind, before, step);
  check_sums_and_scan(kernel);
  check_linear_attention(kernel);
}

}  // namespace hearth::cpu
