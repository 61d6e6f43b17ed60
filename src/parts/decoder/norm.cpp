#include "parts/decoder/norm.h"

namespace hearth::parts {
namespace {

Tensor apply_norm(NormConfig::Kind kind, const Tensor& x, const NormSpec& spec) {
  return kind == NormConfig::Kind::rms ? ops::rms_norm(x, spec) : ops::layer_norm(x, spec);
}

}  // namespace

Norm::Norm(const Scope& w, int64_t channels, const NormConfig& c)
    : config(c), gamma(w.tensor("weight", {channels})), beta(c.bias ? w.tensor("bias", {channels}) : Tensor()) {
  if (c.offset != 0 && gamma) gamma = ops::scaled(gamma, 1, c.offset);
}

Tensor Norm::operator()(const Tensor& x) const { return apply_norm(config.kind, x, {.gamma = gamma, .beta = beta, .eps = config.eps}); }

Tensor normalized(const Tensor& x, const NormConfig& config) { return apply_norm(config.kind, x, {.eps = config.eps}); }

}  // namespace hearth::parts
