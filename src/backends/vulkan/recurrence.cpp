#include "backends/vulkan/vulkan_class.h"

namespace hearth::vulkan {

void VulkanBackend::causal_conv(const Tensor& x, const Tensor& taps, const Tensor& bias, Activation act, Tensor& tail, Tensor& y) {
  constexpr int64_t most_taps = 32;
  const int64_t T = x.size(0), C = x.size(1), K = taps.size(0);
  if (K > most_taps) fail<UnsupportedError>("causal_conv: {} taps, vulkan has at most {}", K, most_taps);
  struct Parameters {
    uint64_t x, taps, bias, tail, y;
    uint32_t T, C, K, x_step, taps_step, tail_step, activation, padding;
  } const p{address(x),
            address(taps),
            address(bias),
            K > 1 ? address(tail) : 0,
            address(y),
            uint32_t(T),
            uint32_t(C),
            uint32_t(K),
            uint32_t(x.stride(0)),
            uint32_t(taps.stride(0)),
            K > 1 ? uint32_t(tail.stride(0)) : 0,
            code(act),
            0};
  stream_->run(Shader::causal_conv, {}, p, parts(C, pointwise_size), double(x.numel()) * double(K) * 10);
}

void VulkanBackend::selective_scan(const Tensor& x, const Tensor& dt, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d,
                                   Tensor& state, Tensor& y) {
  struct Parameters {
    uint64_t x, dt, a, b, c, d, state, y;
    uint32_t T, C, S, x_step, dt_step, b_step, c_step;
  } const p{address(x),
            address(dt),
            address(a),
            address(b),
            address(c),
            address(d),
            address(state),
            address(y),
            uint32_t(x.size(0)),
            uint32_t(x.size(1)),
            uint32_t(a.size(0)),
            uint32_t(x.stride(0)),
            uint32_t(dt.stride(0)),
            uint32_t(b.stride(0)),
            uint32_t(c.stride(0))};
  stream_->run(Shader::scan, {}, p, parts(x.size(1), pointwise_size), double(x.numel()) * double(a.size(0)) * 20);
}

void VulkanBackend::state_space_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const StateSpaceSpec& spec,
                                     Tensor& state, Tensor& y) {
  const int64_t N = spec.a.size(0), S = state.size(1), D = state.size(2);
  struct Parameters {
    uint64_t x, dt, b, c, a, d, bias, state, y;
    uint32_t T, N, S, D, of_group, x_step, dt_step, b_step, c_step;
    float least, most;
  } const p{address(x),
            address(dt),
            address(b),
            address(c),
            address(spec.a),
            address(spec.d),
            address(spec.bias),
            address(state),
            address(y),
            uint32_t(x.size(0)),
            uint32_t(N),
            uint32_t(S),
            uint32_t(D),
            uint32_t(N / spec.groups),
            uint32_t(x.stride(0)),
            uint32_t(dt.stride(0)),
            uint32_t(b.stride(0)),
            uint32_t(c.stride(0)),
            spec.least,
            spec.most};
  stream_->run(Shader::state_space_scan, {}, p, parts(N * D, pointwise_size), double(x.size(0) * N * D) * double(S) * 20);
}

}  // namespace hearth::vulkan
