// Normalisations. Statistics in f32 (two passes), biased variance.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// Normalise each of `groups` channel groups to zero mean and unit variance, scale and shift, activate (Wu & He 2018).
// x [B, ..., C], gamma and beta [C] f32 → the same shape. ShapeError unless C is a multiple of `groups`.
Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& gamma, const Tensor& beta, float eps, Activation act = Activation::none);

// Normalise the last axis, scale and shift (Ba et al. 2016). x [..., C], gamma and beta [C] f32 → the same shape.
Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float eps);

// Divide the last axis by its root mean square, scale (Zhang & Sennrich 2019):  y = x / √(mean x² + eps) · gamma.
// x [..., C], gamma [C] f32 or undefined → the same shape. A checkpoint that stores gamma − 1 is the loader's business.
Tensor rms_norm(const Tensor& x, const Tensor& gamma, float eps);

}  // namespace hearth::ops
