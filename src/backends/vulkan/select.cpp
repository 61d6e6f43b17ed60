#include "backends/vulkan/vulkan_class.h"

namespace hearth::vulkan {

void VulkanBackend::embedding(const Tensor& ids, const Tensor& table, Tensor& y) {
  struct Parameters {
    uint64_t ids, table, y, grids;
    uint32_t count, columns, plain_type, y_type;
  } const p{address(ids),        address(table),          address(y),          grids(table.dtype()),
            uint32_t(y.numel()), uint32_t(table.size(1)), code(table.dtype()), code(y.dtype())};
  stream_->run(Shader::embedding, table.dtype(), {}, p, parts(y.numel(), pointwise_size), double(y.numel()) * 20);
}

void VulkanBackend::top_k(const Tensor& x, Tensor& values, Tensor& columns) {
  struct Parameters {
    uint64_t x, values, columns;
    uint32_t width, k, type, padding;
  } const p{address(x), address(values), address(columns), uint32_t(x.size(1)), uint32_t(values.size(1)), code(x.dtype()), 0};
  if (p.k > 0) stream_->run(Shader::top_k, {}, p, x.size(0), double(x.numel()) * double(p.k) * 10);
}

void VulkanBackend::gather(const Tensor& x, const Tensor& rows, Tensor& y) {
  const size_t bytes = bytes_of(x.dtype(), x.size(1)), word = bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
  const int64_t columns = int64_t(bytes / word), count = rows.numel() * columns;
  struct Parameters {
    uint64_t x, rows, report, y;
    uint32_t count, columns, all_rows, word;
  } const p{address(x),      address(rows),     stream_->report(),   address(y),
            uint32_t(count), uint32_t(columns), uint32_t(x.size(0)), uint32_t(word)};
  stream_->run(Shader::gather, {}, p, parts(count, pointwise_size), double(count) * 10);
}

void VulkanBackend::scatter_add(const Tensor& x, const Tensor& rows, const Tensor& factors, Tensor& y) {
  const int64_t C = x.size(1);
  struct Parameters {
    uint64_t x, rows, report, factors, y;
    uint32_t count, columns, all_rows, x_type;
  } const p{address(x),  address(rows),       stream_->report(), address(factors), address(y), uint32_t(rows.numel()),
            uint32_t(C), uint32_t(y.size(0)), code(x.dtype())};
  stream_->run(Shader::scatter_add, {}, p, parts(C, pointwise_size), double(x.numel()) * 20);
}

}  // namespace hearth::vulkan
