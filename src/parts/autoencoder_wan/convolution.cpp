#include "parts/autoencoder_wan/convolution.h"

#include <algorithm>
#include <cmath>

#include "core/factors.h"
#include "core/on_host.h"
#include "ops/shape_ops.h"

namespace hearth::parts {
namespace {

// x in the dtype in which it is held: the requested one, if it can represent the values; without a request f32, or bf16 if products have
// such factors and x was stored so.
Tensor as_held(const Tensor& x, const WeightTypes& types) {
  const bool narrow = types.hold ? *types.hold != DType::f32 : types.factors == DType::bf16;
  if (!narrow) return x;
  const Tensor y = ops::cast(x, types.hold.value_or(DType::bf16));
  const bool fits = unless_dry(x.backend(), true, [&] {
    const std::vector<float> held = y.to_vector(), wanted = x.to_vector();
    return types.hold ? std::ranges::all_of(held, [](float v) { return std::isfinite(v); }) : held == wanted;
  });
  return fits ? y : x;
}

Weight last_slice(const Scope& w, const Shape& shape) {
  const Tensor all = w.tensor("weight", shape);
  if (!all) return {};
  Backend& device = w.backend();
  const SideScope side(w.weights().side_of(w.path() + ".weight"));
  const Shape kept{shape[0], shape[1], shape[3], shape[4]};
  const Tensor last = ops::contiguous(all.to(device.host()).slice(2, shape[2] - 1, shape[2])).view(kept);
  const WeightTypes& types = w.weights().options().types;
  const Tensor held = as_held(last, types);
  WeightForm form{.hold = held.dtype(), .factors = types.factors};
  form.factors = factors_for(form);
  return {.name = w.path() + ".weight",
          .shape = kept,
          .form = form,
          .prepared = device.prepare(held, WeightKind::conv, form),
          .backend = &device,
          .kind = WeightKind::conv};
}

}  // namespace

FirstFrameConv::FirstFrameConv(const Scope& w, int64_t in, int64_t out, int64_t frames, int64_t kernel, ConvSpec s)
    : weight(last_slice(w, {out, in, frames, kernel, kernel})), bias(w.tensor("bias", {out})), spec(s) {}

}  // namespace hearth::parts
