// Convolutions in groups and transposed ones.
#pragma once

#include "nn/layers.h"

namespace hearth::nn {

// Each channel with a kernel of its own. x [B, H, W, C] → [B, H', W', C]. The few weights are held as f32.
struct DepthwiseConv2d {
  DepthwiseConv2d(const Scope& w, int64_t channels, int64_t kernel, ConvSpec s) : bias(w.tensor("bias", {channels})), spec(s) {
    const Shape shape{channels, 1, kernel, kernel};
    const Tensor own = w.tensor("weight", shape);
    if (!own) return;  // names alone are read
    const WeightForm form{.groups = channels};
    Backend& backend = w.backend();
    const SideScope side(w.weights().side_of(w.path() + ".weight"));
    weight = {.name = w.path() + ".weight",
              .shape = shape,
              .form = form,
              .prepared = backend.prepare(own.to(backend.host()), WeightKind::conv, form),
              .backend = &backend,
              .kind = WeightKind::conv};
  }

  Tensor operator()(const Tensor& x) const { return ops::conv(x, weight, bias, spec); }

  Weight weight;  // [C, 1, k, k]
  Tensor bias;    // [C]
  ConvSpec spec;
};

// torch's ConvTranspose2d without output padding. x [B, H, W, in] → [B, H', W', out] with H' = (H − 1)·stride − 2·padding + kernel.
struct TransposedConv2d {
  TransposedConv2d(const Scope& w, int64_t in, int64_t out, int64_t kernel, ConvSpec s)
      : weight(w.weights().weight(w.path() + ".weight", {in, out, kernel, kernel}, WeightKind::conv_transposed)),
        bias(w.tensor("bias", {out})),
        spec(s) {}

  Tensor operator()(const Tensor& x) const { return ops::conv(x, weight, bias, spec); }

  Weight weight;  // [in, out, k, k]
  Tensor bias;    // [out]
  ConvSpec spec;
};

}  // namespace hearth::nn
