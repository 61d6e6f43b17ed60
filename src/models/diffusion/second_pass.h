// A second pass at a larger size on the result of the first: A1111's "hires. fix".
#pragma once

#include "models/diffusion/pass.h"

namespace hearth::models::diffusion {

// The tasks of both passes. The second has no input yet: latents or images of the right size without data.
// UsageError and UnsupportedError for requests that cannot have two passes.
ImageTask first_of_two(const ImageTask& task);
ImageTask second_of_two(const Facts& model, const ImageTask& task, const ResolvedImage& first, Backend& host);

// Upscales the first pass's latents [B, h, w, C] to the input of the second. `decode` decodes one of them.
void begin_second(Pass& second, const Hires& hires, const Tensor& latents, const std::function<Tensor(const Tensor&)>& decode);

// The resolved image of both passes: the second's sizes, and the denoiser calls of both.
ResolvedImage both(const Pass& first, const Pass& second);
// The second pass's result, with the times of the first added.
ImageResult both(const ImageResult& first, ImageResult second);

}  // namespace hearth::models::diffusion
