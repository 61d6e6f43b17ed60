// The formulas of guidance: they combine a network's predictions under the prompt, under the negative prompt and with a part of it
// perturbed. All tensors are f32 [B, H, W, C] of one shape, contiguous. Norms, products and deviations are those of one image unless
// stated otherwise, in f64, so that the images of a batch do not affect each other.
#pragma once

#include "core/tensor.h"

namespace hearth::sampling {

// negative + scale·(prompt − negative)     (Ho & Salimans 2022, arXiv 2207.12598)
Tensor classifier_free(const Tensor& negative, const Tensor& prompt, double scale);

// Rescales towards the standard deviation of the conditional prediction: φ·guided·std(prompt)/std(guided) + (1 − φ)·guided; unchanged if
// guided is constant. (Lin et al. 2023, arXiv 2305.08891, section 3.4)
Tensor rescaled(const Tensor& guided, const Tensor& prompt, double phi);

// s·negative with s = ⟨prompt, negative⟩/(‖negative‖² + 1e-8): the projection of the conditional prediction on it.
// (Fan et al. 2025, arXiv 2503.18886: CFG-Zero*)
Tensor scaled_towards(const Tensor& negative, const Tensor& prompt);

// prompt − negative + momentum·`running` is the new `running` (undefined: none yet). Its norm is limited to `threshold` (0: no limit), and
// its component along the conditional prediction is multiplied by `eta`. (Sadat et al. 2024, arXiv 2410.02416: APG, algorithm 1)
Tensor projected_difference(const Tensor& negative, const Tensor& prompt, Tensor& running, double momentum, double threshold, double eta);

// guided·‖prompt‖/‖guided‖, norms over all channels of each square of `patch` × `patch` pixels, the tokens of a transformer (Qwen-Image);
// 0 if guided is 0. ShapeError unless `patch` divides both sides.
Tensor with_norms_of(const Tensor& guided, const Tensor& prompt, int64_t patch = 1);
// guided·min(1, most·‖prompt‖/‖guided‖) (Z-Image)
Tensor with_norm_at_most(const Tensor& guided, const Tensor& prompt, double most);

// The component of the unconditional prediction along the first right singular vector of both predictions. (Kwon et al. 2025, arXiv
// 2503.18137: TCFG)
Tensor tangential(const Tensor& negative, const Tensor& prompt);

// negative + s·(prompt − negative), s = 1 + (scale − 1)·exp(−alpha·‖prompt − negative‖/‖negative‖). (Magnitude-aware guidance)
Tensor magnitude_aware(const Tensor& negative, const Tensor& prompt, double scale, double alpha);

// nothing + s_I·(image − nothing) + s_T·(prompt − image); `image` is the prediction with the image but without the prompt.
// (Brooks et al. 2023, arXiv 2211.09800: InstructPix2Pix)
Tensor dual(const Tensor& nothing, const Tensor& image, const Tensor& prompt, double image_scale, double prompt_scale);

// guided + scale·(prompt − perturbed) (Ahn et al. 2024, arXiv 2403.17377: PAG; skip-layer guidance)
Tensor away_from(const Tensor& guided, const Tensor& prompt, const Tensor& perturbed, double scale);

// 1 + scale·(1 − cos(π·done⁵))/2, done from 0 to 1: CogVideoX's increasing scale.
double growing_scale(double scale, double done);

// x̂₀ clipped to ±s and divided by it, s = the `ratio` quantile of |x̂₀| of the image (linear between values), in [1, most].
// (Saharia et al. 2022, arXiv 2205.11487: dynamic thresholding; for pixels, not for latents)
Tensor dynamically_thresholded(const Tensor& x0, double ratio, double most);

}  // namespace hearth::sampling
