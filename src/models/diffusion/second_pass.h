// A second pass at a larger size on what the first one made: A1111's "hires. fix".
#pragma once

#include "models/diffusion/pass.h"

namespace hearth::models::diffusion {

// What both passes are asked for. The second begins with nothing yet: latents or images without their numbers, of the right size.
// UsageError and UnsupportedError for what does not go with two passes.
ImageTask first_of_two(const ImageTask& task);
ImageTask second_of_two(const Facts& model, const ImageTask& task, const ResolvedImage& first, Backend& host);

// Makes the first pass's latents [B, h, w, C] what the second begins with. `decode` makes an image of one of them.
void begin_second(Pass& second, const Hires& hires, const Tensor& latents, const std::function<Tensor(const Tensor&)>& decode);

// What both are told as: the second's sizes, the network calls of both.
ResolvedImage both(const Pass& first, const Pass& second);
// The second's result with what the first took.
ImageResult both(const ImageResult& first, ImageResult second);

}  // namespace hearth::models::diffusion
