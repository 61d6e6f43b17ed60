// Prepares images and masks for inpainting and outpainting, bit-identical to Pillow.
#pragma once

#include <array>

#include "media/pixels.h"

namespace hearth {

// ITU-R 601 luma, as convert("L"): converts an image to a mask.
PixelMask luma(const Pixels& image);

// 255 − value.
PixelMask inverted(PixelMask mask);

// ImageFilter.GaussianBlur(radius), where radius is the standard deviation in pixels: three box blurs of fractional width (Gwosdek et al.,
// "Theoretical foundations of Gaussian convolution by extended box filtering", 2011), first along rows, then along columns. Border pixels
// are repeated beyond the border. UsageError for a radius that is negative, not finite or above a million.
PixelMask gaussian_blur(const PixelMask& mask, double radius);

// Pixels to add on each side.
struct Margins {
  int64_t left = 0, top = 0, right = 0, bottom = 0;
};

// Extends the canvas with one color, as ImageOps.expand: the first step of outpainting. UsageError for a negative margin.
Pixels extended(const Pixels& image, const Margins& margins, const std::array<uint8_t, 3>& color);
PixelMask extended(const PixelMask& mask, const Margins& margins, uint8_t value);

}  // namespace hearth
