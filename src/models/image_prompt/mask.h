// Where an image prompt acts, after diffusers' IPAdapterMaskProcessor 0.39.0.
#pragma once

#include <vector>

#include "media/pixels.h"

namespace hearth::models::image_prompt {

// The mask as the reference prepares it for an image of width × height: gray, resized by Pillow's Lanczos filter in 8 bits, and 1 where it
// is at least half, else 0.   → [height, width]
std::vector<float> prepared_mask(const Pixels& mask, int64_t width, int64_t height);

// How strongly an image prompt acts at each of `positions` of a network, row by row, for a mask [height, width] in 0 … 1. The reference
// derives the grid of the positions from their number and the mask's aspect ratio; where that fails, the last ones get 0.
std::vector<float> mask_at(const std::vector<float>& mask, int64_t width, int64_t height, int64_t positions);

}  // namespace hearth::models::image_prompt
