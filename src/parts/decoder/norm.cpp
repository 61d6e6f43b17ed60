#include "parts/decoder/norm.h"

namespace hearth::parts {

Norm::Norm(const Scope& w, int64_t channels, const NormConfig& c)
    : config(c), gamma(w.tensor("weight", {channels})), beta(c.bias ? w.tensor("bias", {channels}) : Tensor()) {
  if (c.offset != 0 && gamma) gamma = ops::scaled(gamma, 1, c.offset);
}

Tensor Norm::operator()(const Tensor& x) const {
  const NormSpec spec{.gamma = gamma, .beta = beta, .eps = config.eps};
  return config.kind == NormConfig::Kind::rms ? ops::rms_norm(x, spec) : ops::layer_norm(x, spec);
}

}  // namespace hearth::parts
