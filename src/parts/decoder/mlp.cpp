#include "parts/decoder/mlp.h"

#include <algorithm>
#include <cmath>

#include "core/on_host.h"
#include "core/threads.h"

namespace hearth::parts {
namespace {

// Matrix `index` of the two that read x.
Projection half_of_glu(const Scope& w, int64_t width, const MlpConfig& c, int64_t index) {
  if (c.fused) return {w / "gate_up_proj", width, index * c.width, c.width, 2 * c.width, c.bias};
  return {w / (index == 0 ? c.names.gate : c.names.up), width, c.width, c.bias};
}

}  // namespace

Tensor clamped_glu(const Tensor& g, const Tensor& u, Activation activation, float limit) {
  if (activation != Activation::quick_gelu) fail<UnsupportedError>("clamped_glu: only quick_gelu is supported");
  return on_host(
      g.shape(),
      [&](float* y, const float* gate, const float* up) {
        g.backend().host().threads().for_ranges(g.numel(), int64_t(1) << 14, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const float a = std::min(gate[i], limit);
            y[i] = (std::clamp(up[i], -limit, limit) + 1) * (a / (1 + std::exp(-1.702f * a)));
          }
        });
      },
      g, u);
}

Mlp::Mlp(const Scope& w, int64_t width, const MlpConfig& c)
    : gate_(half_of_glu(w, width, c, 0)),
      up_(half_of_glu(w, width, c, 1)),
      down_(w / c.names.down, c.width, width, c.bias, c.output_scale),
      activation_(c.activation),
      limit_(c.limit) {}

Tensor Mlp::operator()(const Tensor& x, const Tensor& residual, const Pass&, States) const {
  if (limit_ != 0) return down_(clamped_glu(gate_(x), up_(x), activation_, limit_), {.residual = residual});
  return down_(up_(x, {.gate = gate_(x, {.activation = activation_})}), {.residual = residual});
}

}  // namespace hearth::parts
