#include "backends/vulkan/vulkan_class.h"

namespace hearth::vulkan {

void VulkanBackend::fill(Tensor& y, float value) {
  if (y.numel() == 0 || !card_) return;
  if (value == 0) return stream_->zero(span(y), y.bytes());
  if (y.dtype() != DType::f32 && !is_16bit_float(y.dtype())) {  // rare
    Tensor values = Tensor::empty(*host_, y.shape(), y.dtype());
    host_->fill(values, value);
    return upload(values, y);
  }
  struct Parameters {
    uint64_t y;
    uint32_t count;
    float value;
    uint32_t y_type, padding;
  } const p{address(y), uint32_t(y.numel()), value, code(y.dtype()), 0};
  stream_->run(Shader::fill, {}, p, parts(y.numel(), pointwise_size), double(y.numel()) * 10);
}

void VulkanBackend::copy(const Tensor& x, Tensor& y) {
  if (x.numel() == 0) return;
  if (x.dtype() == y.dtype() && x.contiguous() && y.contiguous()) return stream_->copy(span(x), span(y), x.bytes());
  if (y.dtype() == DType::q8_0) {
    struct Parameters {
      uint64_t x, y;
      uint32_t blocks;
    } const p{address(x), address(y), uint32_t(x.numel() / 32)};
    stream_->run(Shader::encode_q8_0, {}, p, parts(x.numel() / 32, pointwise_size), double(x.numel()) * 20);
    return;
  }
  struct Parameters {
    uint64_t x, y;
    uint32_t count, axes, size[8], x_step[8], y_step[8], x_type, y_type;
  } p{.x = address(x),
      .y = address(y),
      .count = uint32_t(x.numel()),
      .axes = uint32_t(x.rank()),
      .size = {},
      .x_step = {},
      .y_step = {},
      .x_type = code(x.dtype()),
      .y_type = code(y.dtype())};
  static_assert(Shape::max_rank <= 8);
  for (int axis = 0; axis < x.rank(); ++axis)
    p.size[axis] = uint32_t(x.size(axis)), p.x_step[axis] = uint32_t(x.stride(axis)), p.y_step[axis] = uint32_t(y.stride(axis));
  stream_->run(Shader::copy, {}, p, parts(x.numel(), pointwise_size), double(x.numel()) * 20);
}

void VulkanBackend::resize_nearest(const Tensor& x, Tensor& y) {
  struct Parameters {
    uint64_t x, y;
    uint32_t count, channels, from[2], to[2];
    float ratio[2];
    uint32_t x_type, y_type;
  } p{address(x), address(y), uint32_t(y.numel()), uint32_t(x.size(3)), {}, {}, {}, code(x.dtype()), code(y.dtype())};
  for (int i = 0; i < 2; ++i)
    p.from[i] = uint32_t(x.size(1 + i)), p.to[i] = uint32_t(y.size(1 + i)), p.ratio[i] = float(x.size(1 + i)) / float(y.size(1 + i));
  stream_->run(Shader::resize, {}, p, parts(y.numel(), pointwise_size), double(y.numel()) * 20);
}

void VulkanBackend::pool(const Tensor& x, const PoolSpec& spec, Tensor& y) {
  const PoolAxes axes(x, spec, y);
  struct Parameters {
    uint64_t x, y;
    uint32_t count, channels, from[3], to[3], taps[3], stride[3];
    int32_t before[3];
    uint32_t type, largest_value, padding;
  } p{address(x),
      address(y),
      uint32_t(y.numel()),
      uint32_t(x.size(-1)),
      {},
      {},
      {},
      {},
      {},
      code(x.dtype()),
      spec.kind == PoolSpec::Kind::largest,
      0};
  for (size_t i = 0; i < 3; ++i) {
    p.from[i] = uint32_t(axes.in[i]), p.to[i] = uint32_t(axes.out[i]), p.taps[i] = uint32_t(axes.taps[i]);
    p.stride[i] = uint32_t(axes.window[i].stride), p.before[i] = int32_t(axes.window[i].before);
  }
  stream_->run(Shader::pool, {}, p, parts(y.numel(), pointwise_size), double(y.numel()) * double(count_of(axes.taps)) * 10);
}

}  // namespace hearth::vulkan
