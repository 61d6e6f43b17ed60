// Normalizations. Statistics in f32 (two passes), biased variance.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// Normalize each of `groups` channel groups to zero mean and unit variance, scale and shift, activate (Wu & He 2018).
// x [B, ..., C] → the same shape. ShapeError unless C is a multiple of `groups` and what the spec holds fits.
Tensor group_norm(const Tensor& x, const GroupNormSpec& spec);

// Normalize the last axis, scale and shift (Ba et al. 2016); adaptive norms by spec.scale and spec.shift (Peebles & Xie 2023).
// x [B, ..., C] → the same shape of dtype spec.out (default: x's). ShapeError unless what the spec holds fits.
Tensor layer_norm(const Tensor& x, const NormSpec& spec);

// Divide the last axis by its root mean square, scale (Zhang & Sennrich 2019):  y = x / √(mean x² + eps) · gamma.
// As layer_norm, but without beta. A checkpoint that stores gamma − 1 is the loader's business.
Tensor rms_norm(const Tensor& x, const NormSpec& spec);

}  // namespace hearth::ops
