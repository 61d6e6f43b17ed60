// The shaders as pipelines of a card, specialised by constants, kept on disk in the driver's form between runs.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "backends/vulkan/card.h"
#include "core/dtype.h"

namespace hearth::vulkan {

// The shaders/*.comp. The second list has variants for each type of a weight that is not a plain float.
// clang-format off
#define HEARTH_SHADERS(f) \
  f(attention) f(cached_attention) f(causal_conv) f(convolution) f(copy) f(delta_rule) f(direct_convolution) f(encode_q8_0) \
  f(fill) f(gated_scan) f(gather) f(group_statistics) f(linear_attention) f(norm) f(normalize_groups) f(pointwise) f(pool) \
  f(resize) f(rope) f(scan) f(scatter_add) f(state_space_scan) f(to_integers) f(top_k) f(weighted)
#define HEARTH_SHADERS_OF_WEIGHTS(f) \
  f(dots_few_rows) f(dots_product) f(embedding) f(few_rows) f(integer_few_rows) f(integer_product) f(product)
// clang-format on
enum class Shader {
#define HEARTH_NAME(name) name,
  HEARTH_SHADERS(HEARTH_NAME) HEARTH_SHADERS_OF_WEIGHTS(HEARTH_NAME)
#undef HEARTH_NAME
};

// What every shader is given: the address of its parameters; which workgroups run, the end exclusive.
struct PushConstants {
  uint64_t parameters;
  uint32_t first, end;
};

class Pipelines {
 public:
  explicit Pipelines(const Card& card);
  ~Pipelines();  // writes the file if there are new pipelines
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  // Constant i of the shader has constants[i]. `stored`: the type of the weight, for a shader with variants.
  VkPipeline get(Shader shader, std::optional<DType> stored, std::span<const uint32_t> constants);
  // Of all pipelines: PushConstants.
  VkPipelineLayout layout() const { return layout_; }

 private:
  VkPipeline make(Shader shader, std::optional<DType> stored, std::span<const uint32_t> constants);

  const Card& card_;
  const std::filesystem::path file_;
  VkPipelineLayout layout_ = nullptr;
  VkPipelineCache cache_ = nullptr;
  std::mutex mutex_;
  std::map<std::tuple<Shader, std::optional<DType>, std::vector<uint32_t>>, VkPipeline> pipelines_;  // under mutex_
  bool added_ = false;                                                                               // under mutex_
};

}  // namespace hearth::vulkan
