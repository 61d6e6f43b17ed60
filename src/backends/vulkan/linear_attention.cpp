#include "backends/vulkan/vulkan_class.h"

namespace hearth::vulkan {

void VulkanBackend::linear_attention(const Tensor& q, const Tensor& k, const Tensor& v, float eps, Tensor& y) {
  const auto [B, T, N, D] = q.dims<4>();
  const int64_t S = k.size(1), Dv = v.size(3), cells = B * N * D * (Dv + 1);
  const Tensor sums = Tensor::empty(*this, {B, N, D, Dv + 1});
  struct Parameters {
    uint64_t q, k, v, sums, y;
    uint32_t B, T, S, N, D, Dv;
    float eps;
  } const p{address(q),  address(k),  address(v),  address(sums), address(y),   uint32_t(B),
            uint32_t(T), uint32_t(S), uint32_t(N), uint32_t(D),   uint32_t(Dv), eps};
  stream_->run(Shader::linear_attention, {0}, p, parts(cells, pointwise_size), 2.0 * double(cells) * double(S));
  stream_->run(Shader::linear_attention, {1}, p, parts(y.numel(), pointwise_size), 4.0 * double(y.numel()) * double(D));
}

}  // namespace hearth::vulkan
