#include "backends/vulkan/vulkan_class.h"

namespace hearth::vulkan {

void VulkanBackend::rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) {
  struct Parameters {
    uint64_t x, table, y;
    uint32_t count, T, N, D, half, x_step[3], table_images, table_heads, type, neighbors;
  } const p{address(x),
            address(table),
            address(y),
            uint32_t(y.numel()),
            uint32_t(x.size(1)),
            uint32_t(x.size(2)),
            uint32_t(x.size(3)),
            uint32_t(table.size(4)),
            {uint32_t(x.stride(0)), uint32_t(x.stride(1)), uint32_t(x.stride(2))},
            uint32_t(table.size(0)),
            uint32_t(table.size(2)),
            code(x.dtype()),
            pairs == RotaryPairs::neighbors};
  stream_->run(Shader::rope, {}, p, parts(y.numel(), pointwise_size), double(y.numel()) * 30);
}

}  // namespace hearth::vulkan
