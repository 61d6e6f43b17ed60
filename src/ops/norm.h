// Normalizations. Statistics in f32 (two passes), biased variance.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// Normalizes each of `groups` channel groups to zero mean and unit variance, scales and shifts, activates (Wu & He 2018).
// x [B, ..., C] → the same shape. ShapeError unless C is a multiple of `groups` and the spec's tensors have matching shapes.
Tensor group_norm(const Tensor& x, const GroupNormSpec& spec);

// Normalizes the last axis, scales and shifts (Ba et al. 2016); adaptive norms by spec.scale and spec.shift (Peebles & Xie 2023).
// x [B, ..., C] → the same shape of dtype spec.out (default: x's). ShapeError unless the spec's tensors have matching shapes.
Tensor layer_norm(const Tensor& x, const NormSpec& spec);

// Divides the last axis by its root mean square, scales (Zhang & Sennrich 2019):  y = x / √(mean x² + eps) · gamma.
// As layer_norm, but without beta. If a checkpoint stores gamma − 1, its loader adds the 1.
Tensor rms_norm(const Tensor& x, const NormSpec& spec);

}  // namespace hearth::ops
