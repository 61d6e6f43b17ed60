#include <algorithm>

#include "backends/vulkan/vulkan_class.h"

namespace hearth::vulkan {
namespace {

enum Op : uint32_t { activation_op, combination_op, product_op, affine_op };

constexpr size_t most = 8;  // tensors of a sum

struct Parameters {
  uint64_t y = 0, x[most] = {};
  float factor[most] = {};
  uint32_t type[most] = {};
  uint32_t count = 0, xs = 0, rows = 1, columns = 1, step[2] = {}, by_row[2] = {};
  uint32_t y_type = 0, activation = 0, x_type = 0, other_type = 0;
};

}  // namespace

void VulkanBackend::activate(const Tensor& x, Activation act, Tensor& y) {
  const Parameters p{.y = address(y),
                     .x = {address(x)},
                     .count = uint32_t(x.numel()),
                     .y_type = code(y.dtype()),
                     .activation = code(act),
                     .x_type = code(x.dtype())};
  stream_->run(Shader::pointwise, {activation_op}, p, parts(x.numel(), pointwise_size), double(x.numel()) * 30);
}

void VulkanBackend::linear_combination(std::span<const Tensor> xs, std::span<const float> factors, Tensor& y) {
  if (xs.size() > most) {  // the sum so far has the factor 1, exactly; it is f32
    Tensor sum = Tensor::empty(*this, y.shape(), DType::f32);
    linear_combination(xs.first(most), factors.first(most), sum);
    std::vector<Tensor> rest{sum};
    std::vector<float> rest_factors{1};
    rest.insert(rest.end(), xs.begin() + most, xs.end()), rest_factors.insert(rest_factors.end(), factors.begin() + most, factors.end());
    return linear_combination(rest, rest_factors, y);
  }
  Parameters p{.y = address(y), .count = uint32_t(y.numel()), .xs = uint32_t(xs.size()), .y_type = code(y.dtype())};
  for (size_t i = 0; i < xs.size(); ++i) p.x[i] = address(xs[i]), p.factor[i] = factors[i], p.type[i] = code(xs[i].dtype());
  stream_->run(Shader::pointwise, {combination_op}, p, parts(y.numel(), pointwise_size), double(y.numel()) * double(10 * xs.size()));
}

void VulkanBackend::multiply(const Tensor& a, const Tensor& b, Tensor& y) {
  const Parameters p{.y = address(y),
                     .x = {address(a), address(b)},
                     .count = uint32_t(y.numel()),
                     .y_type = code(y.dtype()),
                     .x_type = code(a.dtype()),
                     .other_type = code(b.dtype())};
  stream_->run(Shader::pointwise, {product_op}, p, parts(y.numel(), pointwise_size), double(y.numel()) * 20);
}

void VulkanBackend::affine(const Tensor& x, const Tensor& scale, const Tensor& shift, Tensor& y) {
  Parameters p{.y = address(y),
               .x = {address(x), address(scale), address(shift)},
               .count = uint32_t(y.numel()),
               .rows = uint32_t(x.size(1)),
               .columns = uint32_t(x.size(2)),
               .y_type = code(y.dtype()),
               .x_type = code(x.dtype())};
  const Tensor* const both[2] = {&scale, &shift};
  for (size_t i = 0; i < 2; ++i) {
    const Tensor& t = *both[i];
    if (t) p.step[i] = t.size(0) == 1 ? 0 : uint32_t(t.stride(0)), p.by_row[i] = t.size(0) != 1 && t.size(0) != x.size(0);
  }
  stream_->run(Shader::pointwise, {affine_op}, p, parts(y.numel(), pointwise_size), double(y.numel()) * 30);
}

}  // namespace hearth::vulkan
