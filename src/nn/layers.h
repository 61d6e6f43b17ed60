// Layers of networks. Each takes its Scope and sizes; its checkpoint name is next to the member.
#pragma once

#include "core/factors.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/select.h"
#include "ops/shape_ops.h"
#include "weights/scope.h"

namespace hearth::nn {

enum class Bias { no, yes };

// y = act(α · x Wᵀ + b) + residual.   x [..., in] → [..., out]
struct Linear {
  Linear(const Scope& w, int64_t in, int64_t out, Bias b = Bias::yes)
      : weight(w.linear("weight", out, in)), bias(b == Bias::yes ? w.tensor("bias", {out}) : Tensor()) {}

  Tensor operator()(const Tensor& x, const Epilogue& e = {}, const GroupNormSpec& norm = {}) const {
    return ops::linear(x, weight, bias, e, norm);
  }

  Weight weight;  // [out, in]
  Tensor bias;    // [out], undefined without bias
};

// For results that are used only inside a block (core/specs.h).
inline const Epilogue inner{.stored = Stored::inner};
inline Epilogue inside(Stored stored) { return {.stored = stored}; }

// As read_by of the layers' weights.
template <class... Layers> Stored read_by(const Layers&... layers) { return hearth::read_by(layers.weight...); }

// Linear layers of the same x.   [..., in] → [..., out] of each
template <class... Layers> std::array<Tensor, sizeof...(Layers)> together(const Tensor& x, const Layers&... layers) {
  return ops::linears(x, {ops::LinearSpec{layers.weight, layers.bias}...});
}

// y = a · act(b) with (a, b) = x Wᵀ + b: a gated linear unit, values before gates (Shazeer 2020).   x [..., in] → [..., out]
struct Glu {
  Glu(const Scope& w, int64_t in, int64_t out, Activation activation_)
      : weight(w.glu("weight", out, in)), bias(w.tensor("bias", {2 * out})), activation(activation_) {}

  Tensor operator()(const Tensor& x, Stored stored = Stored::inner) const {
    return ops::linear(x, weight, bias, {.activation = activation, .stored = stored});
  }

  Weight weight;  // [2·out, in]
  Tensor bias;    // [2·out]
  Activation activation;
};

// x [B, H, W, in] → [B, H', W', out]; the kernel is square.
struct Conv2d {
  Conv2d(const Scope& w, int64_t in, int64_t out, int64_t kernel, ConvSpec s = {}, Bias b = Bias::yes, int64_t groups = 1)
      : weight(w.conv2d("weight", out, in, kernel, groups)), bias(b == Bias::yes ? w.tensor("bias", {out}) : Tensor()), spec(s) {}

  Tensor operator()(const Tensor& x, const Epilogue& e = {}, const GroupNormSpec& norm = {}) const {
    return ops::conv(x, weight, bias, spec, e, norm);
  }
  // Resizes x to [height, width] by nearest neighbor first, without an intermediate tensor.
  Tensor resized(const Tensor& x, int64_t height, int64_t width, const Epilogue& e = {}) const {
    return ops::conv(x, weight, bias, spec.resized(height, width), e);
  }

  Weight weight;  // [out, in / groups, k, k]
  Tensor bias;    // [out], undefined without bias
  ConvSpec spec;
};

// x [B, ..., C] → the same shape
struct GroupNorm {
  GroupNorm(const Scope& w, int64_t groups_, int64_t channels, float eps_)
      : gamma(w.tensor("weight", {channels})), beta(w.tensor("bias", {channels})), groups(groups_), eps(eps_) {}

  Tensor operator()(const Tensor& x, Activation act = Activation::none) const { return ops::group_norm(x, input(act)); }
  // The same norm, applied by the layer that it feeds:  conv(norm(x, act)) = conv(x, {}, norm.input(act)).
  GroupNormSpec input(Activation act = Activation::none) const { return {groups, gamma, beta, eps, act}; }

  Tensor gamma, beta;  // [C]
  int64_t groups;
  float eps;
};

// x [..., C] → the same shape
struct LayerNorm {
  LayerNorm(const Scope& w, int64_t channels, float eps_ = 1e-5f)
      : gamma(w.tensor("weight", {channels})), beta(w.tensor("bias", {channels})), eps(eps_) {}

  Tensor operator()(const Tensor& x, Stored stored = Stored::plain) const {
    return ops::layer_norm(x, {.gamma = gamma, .beta = beta, .eps = eps, .stored = stored});
  }

  Tensor gamma, beta;  // [C]
  float eps;
};

// x [..., C] → the same shape
struct RmsNorm {
  RmsNorm(const Scope& w, int64_t channels, float eps_) : gamma(w.tensor("weight", {channels})), eps(eps_) {}

  Tensor operator()(const Tensor& x) const { return ops::rms_norm(x, {.gamma = gamma, .eps = eps}); }

  Tensor gamma;  // [C]
  float eps;
};

// ids [T] → f32 [T, C]
struct Embedding {
  Embedding(const Scope& w, int64_t count, int64_t channels) : table(w.table("weight", {count, channels})) {}

  Tensor operator()(std::span<const int32_t> ids) const { return ops::embedding(ids, table); }

  Tensor table;  // [V, C]
};

}  // namespace hearth::nn
