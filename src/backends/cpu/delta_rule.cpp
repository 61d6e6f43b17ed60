#include <algorithm>

#include "backends/cpu/cpu_class.h"

namespace hearth::cpu {
namespace {

constexpr int64_t registers = 4;  // of columns in a piece of work

}  // namespace

// Elements of v are independent of each other, so a piece of work is some of a head's, for all tokens: its part of the state stays in L1.
void CpuBackend::delta_rule(const DeltaRule& rule, Tensor& state, Tensor& y) {
  using Kind = DeltaRuleScan::Kind;
  const int64_t T = rule.q.size(0), G = rule.q.size(1), Dk = rule.q.size(2), H = rule.v.size(1), Dv = rule.v.size(2);
  const bool each = rule.decay.rank() == 3;
  const int64_t decays = rule.decay.numel();
  const auto store = memory_->allocate(size_t(decays) * sizeof(float));
  float* const decay = reinterpret_cast<float*>(store.get());
  pool_.for_ranges(decays, 16384, [&](int64_t begin, int64_t end) {
    const int64_t n = end - begin;
    kernels_.exp(rule.decay.data<float>() + begin, n, decay + begin);
    if (!rule.by_rate) return;
    kernels_.scale(decay + begin, -1, n, decay + begin);
    kernels_.exp(decay + begin, n, decay + begin);
  });
  const int64_t width = registers * kernels_.lanes, parts = (Dv + width - 1) / width, wide = each ? Dk : 1;
  const auto of = [](const Tensor& x, int64_t at) { return x ? x.data<float>() + at : nullptr; };
  pool_.run(H * parts, [&](int64_t piece) {
    const int64_t h = piece / parts, g = h / (H / G), column = piece % parts * width;
    kernels_.delta_rule({.kind = rule.a      ? Kind::ab
                                 : rule.beta ? Kind::beta
                                             : Kind::plain,
                         .reads_before = rule.reads_before,
                         .tokens = T,
                         .keys = Dk,
                         .columns = std::min(width, Dv - column),
                         .q = of(rule.q, g * Dk),
                         .k = of(rule.k, g * Dk),
                         .k_stride = G * Dk,
                         .v = of(rule.v, h * Dv + column),
                         .v_stride = H * Dv,
                         .decay = decay + h * wide,
                         .decay_stride = H * wide,
                         .decay_step = each ? 1 : 0,
                         .beta = of(rule.beta, h),
                         .beta_stride = H,
                         .a = of(rule.a, h * Dk),
                         .b = of(rule.b, h * Dk),
                         .a_stride = H * Dk,
                         .state = state.data<float>() + h * Dk * Dv + column,
                         .state_stride = Dv,
                         .y = y.data<float>() + h * Dv + column,
                         .y_stride = H * Dv,
                         .scratch = thread_scratch(size_t(Dk * width))});
  });
}

void CpuBackend::add_weighted(const Tensor& base, const Tensor& q, const Tensor& k, const Tensor& u, const Tensor& v, Tensor& y) {
  const int64_t T = q.size(0), H = q.size(1), Dk = q.size(2), Dv = v.size(2);
  pool_.for_ranges(T * H, std::max<int64_t>(1, 8192 / (Dk + Dv)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      kernels_.add_weighted(base.data<float>() + r * Dv, q.data<float>() + r * Dk, k.data<float>() + r * Dk, u.data<float>() + r % H * Dk,
                            Dk, v.data<float>() + r * Dv, Dv, y.data<float>() + r * Dv);
  });
}

void CpuBackend::gated_scan(const Tensor& x, const Tensor& log_a, bool starts, Tensor& state, Tensor& y) {
  const int64_t T = x.size(0), C = x.size(1);
  pool_.for_ranges(C, 256, [&](int64_t begin, int64_t end) {
    kernels_.gated_scan(x.data<float>() + begin, log_a.data<float>() + begin, T, end - begin, C, starts, state.data<float>() + begin,
                        y.data<float>() + begin);
  });
}

}  // namespace hearth::cpu
