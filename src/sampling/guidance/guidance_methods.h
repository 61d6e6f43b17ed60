// The formulas of guidance: what is made of a network's answers under the prompt, under the negative prompt and with a part of it
// disturbed. All tensors are f32 [B, H, W, C] of one shape, contiguous; norms, products and deviations are those of one image unless
// said otherwise, in f64, so that no image of a batch has a say in another.
#pragma once

#include "core/tensor.h"

namespace hearth::sampling {

// negative + scale·(prompt − negative)     (Ho & Salimans 2022, arXiv 2207.12598)
Tensor classifier_free(const Tensor& negative, const Tensor& prompt, double scale);

// Towards the deviation of the prompt's answer: φ·guided·std(prompt)/std(guided) + (1 − φ)·guided;
// as it is where it is the same everywhere. (Lin et al. 2023, arXiv 2305.08891, section 3.4)
Tensor rescaled(const Tensor& guided, const Tensor& prompt, double phi);

// s·negative with s = ⟨prompt, negative⟩/(‖negative‖² + 1e-8): as much of it as the prompt's answer holds.
// (Fan et al. 2025, arXiv 2503.18886: CFG-Zero*)
Tensor scaled_towards(const Tensor& negative, const Tensor& prompt);

// prompt − negative + momentum·`running` is the new `running` (undefined: nothing yet); its norm is limited to `threshold` (0: not),
// and of its part along the prompt's answer only `eta` is kept. (Sadat et al. 2024, arXiv 2410.02416: APG, algorithm 1)
Tensor projected_difference(const Tensor& negative, const Tensor& prompt, Tensor& running, double momentum, double threshold, double eta);

// guided·‖prompt‖/‖guided‖, norms over the channels of each pixel (Qwen-Image); 0 where guided is.
Tensor with_norms_of(const Tensor& guided, const Tensor& prompt);
// guided·min(1, most·‖prompt‖/‖guided‖) (Z-Image)
Tensor with_norm_at_most(const Tensor& guided, const Tensor& prompt, double most);

// The part of the negative answer along the first right singular vector of both answers. (Kwon et al. 2025, arXiv 2503.18137: TCFG)
Tensor tangential(const Tensor& negative, const Tensor& prompt);

// negative + s·(prompt − negative), s = 1 + (scale − 1)·exp(−alpha·‖prompt − negative‖/‖negative‖). (Magnitude-aware guidance)
Tensor magnitude_aware(const Tensor& negative, const Tensor& prompt, double scale, double alpha);

// nothing + s_I·(image − nothing) + s_T·(prompt − image), where `image` knows the image but not the prompt.
// (Brooks et al. 2023, arXiv 2211.09800: InstructPix2Pix)
Tensor dual(const Tensor& nothing, const Tensor& image, const Tensor& prompt, double image_scale, double prompt_scale);

// guided + scale·(prompt − disturbed) (Ahn et al. 2024, arXiv 2403.17377: PAG; skip-layer guidance)
Tensor away_from(const Tensor& guided, const Tensor& prompt, const Tensor& disturbed, double scale);

// 1 + scale·(1 − cos(π·done⁵))/2, done from 0 to 1: CogVideoX's growing scale.
double growing_scale(double scale, double done);

// x̂₀ clipped to ±s and divided by it, s = the `ratio` quantile of |x̂₀| of the image (linear between values), in [1, most].
// (Saharia et al. 2022, arXiv 2205.11487: dynamic thresholding; for pixels, not for latents)
Tensor dynamically_thresholded(const Tensor& x0, double ratio, double most);

}  // namespace hearth::sampling
