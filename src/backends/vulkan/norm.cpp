#include "backends/vulkan/vulkan_class.h"

namespace hearth::vulkan {
namespace {

struct NormParameters {
  uint64_t x, y, gamma, beta, scale, shift;
  uint32_t rows, columns, of_image, scale_step, shift_step, scale_by_row, shift_by_row;
  float eps;
  uint32_t centered, x_type, y_type, padding;
};

}  // namespace

Tensor VulkanBackend::normalized(const Tensor& x, const GroupNormSpec& norm, DType factors) {
  if (!norm) return x;
  Tensor y = Tensor::empty(*this, x.shape(), factors == DType::bf16 ? DType::bf16 : DType::f32);
  group_norm(x, norm, y);
  return y;
}

void VulkanBackend::group_norm(const Tensor& x, const GroupNormSpec& norm, Tensor& y) {
  const int64_t B = x.size(0), C = x.size(-1), P = x.numel() / (B * C);
  const Tensor statistics = Tensor::empty(*this, {B, norm.groups, 2});
  struct Statistics {
    uint64_t x, y;
    uint32_t groups, positions, channels;
    float eps;
    uint32_t x_type, padding;
  } const s{address(x), address(statistics), uint32_t(norm.groups), uint32_t(P), uint32_t(C), norm.eps, code(x.dtype()), 0};
  stream_->run(Shader::group_statistics, {}, s, B * norm.groups, double(x.numel()) * 20);
  struct Parameters {
    uint64_t x, y, statistics, gamma, beta, scale, shift;
    uint32_t count, of_image, groups, channels, scale_step, shift_step, activation, x_type, y_type, padding;
  } const p{address(x),
            address(y),
            address(statistics),
            address(norm.gamma),
            address(norm.beta),
            address(norm.scale),
            address(norm.shift),
            uint32_t(x.numel()),
            uint32_t(P * C),
            uint32_t(norm.groups),
            uint32_t(C),
            norm.scale ? uint32_t(norm.scale.stride(0)) : 0,
            norm.shift ? uint32_t(norm.shift.stride(0)) : 0,
            code(norm.activation),
            code(x.dtype()),
            code(y.dtype()),
            0};
  stream_->run(Shader::normalize_groups, {}, p, parts(x.numel(), pointwise_size), double(x.numel()) * 20);
}

// Layer norm if centered, else RMS norm.
static void row_norm(Stream& stream, bool centered, const Tensor& x, const NormSpec& spec, const Tensor& y, NormParameters p) {
  constexpr int64_t invocations = 128;  // of a workgroup
  const int64_t rows = x.size(0) * x.size(1), C = x.size(2), together = C <= 32 ? 8 : C <= 256 ? 32 : invocations;
  p.rows = uint32_t(rows), p.columns = uint32_t(C), p.of_image = uint32_t(x.size(1)), p.eps = spec.eps;
  p.centered = centered, p.x_type = code(x.dtype()), p.y_type = code(y.dtype());
  const auto modulation = [&](const Tensor& t, uint32_t& step, uint32_t& by_row) {
    if (t) step = uint32_t(t.stride(0)), by_row = t.size(0) != x.size(0);
  };
  modulation(spec.scale, p.scale_step, p.scale_by_row), modulation(spec.shift, p.shift_step, p.shift_by_row);
  stream.run(Shader::norm, {uint32_t(together)}, p, parts(rows, invocations / together), double(x.numel()) * 20);
}

void VulkanBackend::layer_norm(const Tensor& x, const NormSpec& spec, Tensor& y) {
  row_norm(*stream_, true, x, spec, y,
           {address(x), address(y), address(spec.gamma), address(spec.beta), address(spec.scale), address(spec.shift)});
}

void VulkanBackend::rms_norm(const Tensor& x, const NormSpec& spec, Tensor& y) {
  row_norm(*stream_, false, x, spec, y, {address(x), address(y), address(spec.gamma), 0, address(spec.scale), address(spec.shift)});
}

}  // namespace hearth::vulkan
