#include "backends/vulkan/vulkan_class.h"

namespace hearth::vulkan {

void VulkanBackend::delta_rule(const DeltaRule& rule, Tensor& state, Tensor& y) {
  const int64_t T = rule.q.size(0), G = rule.q.size(1), Dk = rule.q.size(2), H = rule.v.size(1), Dv = rule.v.size(2);
  struct Parameters {
    uint64_t q, k, v, decay, beta, a, b, state, y;
    uint32_t T, G, Dk, H, Dv, each, reads_before, by_rate;
  } const p{address(rule.q),   address(rule.k), address(rule.v), address(rule.decay), address(rule.beta),
            address(rule.a),   address(rule.b), address(state),  address(y),          uint32_t(T),
            uint32_t(G),       uint32_t(Dk),    uint32_t(H),     uint32_t(Dv),        rule.decay.rank() == 3,
            rule.reads_before, rule.by_rate};
  stream_->run(Shader::delta_rule, {}, p, parts(H * Dv, pointwise_size), double(T * H * Dv) * double(Dk) * 40);
}

void VulkanBackend::add_weighted(const Tensor& base, const Tensor& q, const Tensor& k, const Tensor& u, const Tensor& v, Tensor& y) {
  struct Parameters {
    uint64_t base, q, k, u, v, y;
    uint32_t count, H, Dk, Dv;
  } const p{address(base), address(q),          address(k),          address(u),          address(v),
            address(y),    uint32_t(y.numel()), uint32_t(q.size(1)), uint32_t(q.size(2)), uint32_t(v.size(2))};
  stream_->run(Shader::weighted, {}, p, parts(y.numel(), pointwise_size), double(y.numel()) * double(p.Dk) * 10);
}

void VulkanBackend::gated_scan(const Tensor& x, const Tensor& log_a, bool starts, Tensor& state, Tensor& y) {
  struct Parameters {
    uint64_t x, log_a, state, y;
    uint32_t T, C, starts;
  } const p{address(x), address(log_a), address(state), address(y), uint32_t(x.size(0)), uint32_t(x.size(1)), starts};
  stream_->run(Shader::gated_scan, {}, p, parts(x.size(1), pointwise_size), double(x.numel()) * 60);
}

}  // namespace hearth::vulkan
