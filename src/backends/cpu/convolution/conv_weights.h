// Weights of convolutions that are not a single product.
#pragma once

#include "core/backend.h"

namespace hearth::cpu {

// Each channel has its own kernel.
inline bool is_depthwise(const Weight& w) { return w.kind == WeightKind::conv && w.shape[1] == 1 && w.shape[0] == w.form.groups; }

struct GroupedWeight final : PreparedWeight {
  std::vector<std::shared_ptr<const PreparedWeight>> parts;  // one per group
};

struct DepthwiseWeight final : PreparedWeight {
  const float* values() const { return reinterpret_cast<const float*>(data.get()); }  // [tap][channel]

  int64_t taps = 0;
  std::shared_ptr<std::byte> data;
};

inline constexpr int64_t depthwise_rows = 4;  // positions that are summed together

}  // namespace hearth::cpu
