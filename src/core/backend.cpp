#include "core/backend.h"

namespace hearth {

void Backend::lacks(std::string_view op) const {
  if (computes()) fail<UnsupportedError>("{}: the backend {} does not have this op", op, name());
}

void Backend::fill(Tensor&, float) { lacks("fill"); }
void Backend::linear(const Tensor&, const Weight&, const Tensor&, const Epilogue&, const GroupNormSpec&, Tensor&) { lacks("linear"); }
void Backend::conv(const Tensor&, const Weight&, const Tensor&, const ConvSpec&, const Epilogue&, const GroupNormSpec&, Tensor&) {
  lacks("conv");
}
void Backend::attention(const Tensor&, const Tensor&, const Tensor&, const AttentionSpec&, Tensor&) { lacks("attention"); }
void Backend::cached_attention(const Tensor&, std::span<const KeyValues>, const CachedAttentionSpec&, Tensor&) {
  lacks("cached_attention");
}
void Backend::rope(const Tensor&, const Tensor&, RotaryPairs, Tensor&) { lacks("rope"); }
void Backend::group_norm(const Tensor&, const GroupNormSpec&, Tensor&) { lacks("group_norm"); }
void Backend::layer_norm(const Tensor&, const NormSpec&, Tensor&) { lacks("layer_norm"); }
void Backend::rms_norm(const Tensor&, const NormSpec&, Tensor&) { lacks("rms_norm"); }
void Backend::activate(const Tensor&, Activation, Tensor&) { lacks("activate"); }
void Backend::linear_combination(std::span<const Tensor>, std::span<const float>, Tensor&) { lacks("linear_combination"); }
void Backend::multiply(const Tensor&, const Tensor&, Tensor&) { lacks("multiply"); }
void Backend::affine(const Tensor&, const Tensor&, const Tensor&, Tensor&) { lacks("affine"); }
void Backend::embedding(const Tensor&, const Tensor&, Tensor&) { lacks("embedding"); }
void Backend::top_k(const Tensor&, Tensor&, Tensor&) { lacks("top_k"); }
void Backend::gather(const Tensor&, const Tensor&, Tensor&) { lacks("gather"); }
void Backend::scatter_add(const Tensor&, const Tensor&, const Tensor&, Tensor&) { lacks("scatter_add"); }
void Backend::causal_conv(const Tensor&, const Tensor&, const Tensor&, Activation, Tensor&, Tensor&) { lacks("causal_conv"); }
void Backend::selective_scan(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, Tensor&, Tensor&) {
  lacks("selective_scan");
}
void Backend::state_space_scan(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const StateSpaceSpec&, Tensor&, Tensor&) {
  lacks("state_space_scan");
}
void Backend::copy(const Tensor&, Tensor&) { lacks("copy"); }
void Backend::resize_nearest(const Tensor&, Tensor&) { lacks("resize_nearest"); }
void Backend::pool(const Tensor&, const PoolSpec&, Tensor&) { lacks("pool"); }
void Backend::delta_rule(const DeltaRule&, Tensor&, Tensor&) { lacks("delta_rule"); }
void Backend::add_weighted(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, Tensor&) { lacks("add_weighted"); }
void Backend::linear_attention(const Tensor&, const Tensor&, const Tensor&, float, Tensor&) { lacks("linear_attention"); }
void Backend::gated_scan(const Tensor&, const Tensor&, bool, Tensor&, Tensor&) { lacks("gated_scan"); }

}  // namespace hearth
