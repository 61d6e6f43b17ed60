#include <algorithm>

#include "backends/cpu/cpu_class.h"

namespace hearth::cpu {
namespace {

// Channels of a piece of work: a register or more, and work for some microseconds.
int64_t channels_of_piece(int64_t work_of_channel, int64_t unit) {
  constexpr int64_t enough = 1 << 16;
  return unit * std::max<int64_t>(1, enough / (std::max<int64_t>(1, work_of_channel) * unit));
}

constexpr int64_t conv_columns = 256, conv_rows = 4;  // at a time: rows of y stay in L1, and taps are read once for four of them

}  // namespace

// A piece has some channels of all tokens, so that it may overwrite their tail at the end.
void CpuBackend::causal_conv(const Tensor& x, const Tensor& taps, const Tensor& bias, Activation act, Tensor& tail, Tensor& y) {
  const int64_t T = x.size(0), C = x.size(1), K = taps.size(0);
  const int64_t piece = std::min(conv_columns, channels_of_piece(T * K, kernels_.lanes));
  pool_.for_ranges(C, piece, [&](int64_t begin, int64_t end) {
    const int64_t n = end - begin;
    const auto row = [&](int64_t r) {
      return (r < K - 1 ? tail.data<float>() + r * C : x.data<float>() + (r - K + 1) * x.stride(0)) + begin;
    };
    auto* const rows = reinterpret_cast<const float**>(thread_scratch(size_t(2 * conv_rows * K)));
    for (int64_t t = 0; t < T; t += conv_rows) {
      const int64_t count = std::min(conv_rows, T - t);
      for (int64_t r = 0; r < count; ++r)
        for (int64_t k = 0; k < K; ++k) rows[r * K + k] = row(t + r + k);
      float* const to = y.data<float>() + t * C + begin;
      kernels_.depthwise(rows, K, count, taps.data<float>() + begin, C, n, to, C);
      for (int64_t r = 0; r < count; ++r) {
        if (bias) kernels_.affine(to + r * C, n, nullptr, bias.data<float>() + begin, to + r * C);
        if (act != Activation::none) kernels_.activate(to + r * C, n, act_of(act), to + r * C);
      }
    }
    for (int64_t r = 0; r < K - 1; ++r)
      std::copy_n(row(T + r), n, tail.data<float>() + r * C + begin);  // each row is read before it is written
  });
}

void CpuBackend::selective_scan(const Tensor& x, const Tensor& dt, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d,
                                Tensor& state, Tensor& y) {
  const int64_t T = x.size(0), C = x.size(1), S = a.size(0);
  pool_.for_ranges(C, channels_of_piece(8 * T * S, kernels_.lanes), [&](int64_t begin, int64_t end) {
    kernels_.selective_scan({.tokens = T,
                             .states = S,
                             .channels = end - begin,
                             .x = x.data<float>() + begin,
                             .dt = dt.data<float>() + begin,
                             .x_stride = x.stride(0),
                             .dt_stride = dt.stride(0),
                             .b = b.data<float>(),
                             .c = c.data<float>(),
                             .b_stride = b.stride(0),
                             .c_stride = c.stride(0),
                             .a = a.data<float>() + begin,
                             .state = state.data<float>() + begin,
                             .state_stride = C,
                             .d = d ? d.data<float>() + begin : nullptr,
                             .y = y.data<float>() + begin,
                             .y_stride = C,
                             .scratch = thread_scratch(size_t(2 * S * kernels_.lanes))});
  });
}

void CpuBackend::state_space_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const StateSpaceSpec& spec,
                                  Tensor& state, Tensor& y) {
  const int64_t T = x.size(0), N = spec.a.size(0), S = state.size(1), D = state.size(2), group = N / spec.groups;
  const Tensor steps = Tensor::empty(*this, {2, T, N});  // Δ and exp(Δ · a)
  pool_.for_ranges(T, std::max<int64_t>(1, 2048 / N), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float *const step = steps.data<float>() + t * N, *const decay = step + T * N;
      kernels_.affine(dt.data<float>() + t * dt.stride(0), N, nullptr, spec.bias ? spec.bias.data<float>() : nullptr, step);
      kernels_.activate(step, N, Act::softplus, step);
      kernels_.clamp(step, N, spec.least, spec.most);
      kernels_.multiply(step, spec.a.data<float>(), N, decay);
      kernels_.exp(decay, N, decay);
    }
  });
  // A piece has up to two registers of a head's elements, of all tokens: its state stays in L1. Where it is used more than once, it is
  // copied there, because its rows would fall into the same cache sets.
  const int64_t wide = 2 * kernels_.lanes, parts = (D + wide - 1) / wide;
  pool_.for_ranges(N * parts, channels_of_piece(T * S * wide, 1), [&](int64_t begin, int64_t end) {
    const bool moves = T >= 4;
    float* const scratch = moves ? thread_scratch(size_t(S * wide)) : nullptr;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / parts, first = i % parts * wide, columns = std::min(wide, D - first), g = n / group;
      float* const own = state.data<float>() + n * S * D + first;
      for (int64_t s = 0; moves && s < S; ++s) std::copy_n(own + s * D, columns, scratch + s * wide);
      kernels_.state_space_scan({.tokens = T,
                                 .states = S,
                                 .columns = columns,
                                 .x = x.data<float>() + n * D + first,
                                 .x_stride = x.stride(0),
                                 .step = steps.data<float>() + n,
                                 .decay = steps.data<float>() + T * N + n,
                                 .step_stride = N,
                                 .b = b.data<float>() + g * S,
                                 .c = c.data<float>() + g * S,
                                 .b_stride = b.stride(0),
                                 .c_stride = c.stride(0),
                                 .state = moves ? scratch : own,
                                 .state_stride = moves ? wide : D,
                                 .d = spec.d ? spec.d.data<float>()[n] : 0,
                                 .y = y.data<float>() + n * D + first,
                                 .y_stride = N * D});
      for (int64_t s = 0; moves && s < S; ++s) std::copy_n(scratch + s * wide, columns, own + s * D);
    }
  });
}

}  // namespace hearth::cpu
