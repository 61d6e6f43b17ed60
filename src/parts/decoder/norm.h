// The norms of a decoder's residual stream, and of queries and keys.
#pragma once

#include "nn/layers.h"

namespace hearth::parts {

struct NormConfig {
  enum class Kind { rms, layer };  // Zhang & Sennrich 2019; Ba et al. 2016

  Kind kind = Kind::rms;
  float eps = 1e-6f;
  bool bias = false;  // of a layer norm
  float offset = 0;   // added to the stored weight: 1 in checkpoints that store gamma − 1

  bool operator==(const NormConfig&) const = default;
};

// x [..., C] → the same shape
struct Norm {
  Norm(const Scope& w, int64_t channels, const NormConfig& config);
  Tensor operator()(const Tensor& x) const;

  NormConfig config;
  Tensor gamma;  // [C], with the offset
  Tensor beta;   // [C], undefined without bias
};

// x without scale and shift.
Tensor normalized(const Tensor& x, const NormConfig& config);

}  // namespace hearth::parts
