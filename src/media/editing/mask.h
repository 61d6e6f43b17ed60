// What is done to images and masks before they are painted into, bit for bit as Pillow does it.
#pragma once

#include <array>

#include "media/pixels.h"

namespace hearth {

// ITU-R 601 luma, as convert("L"): an image taken as a mask.
PixelMask luma(const Pixels& image);

// 255 − value.
PixelMask inverted(PixelMask mask);

// ImageFilter.GaussianBlur(radius), radius being the standard deviation in pixels: three box blurs of fractional width (Gwosdek et al.,
// "Theoretical foundations of Gaussian convolution by extended box filtering", 2011), first along rows, then along columns; the border
// goes on for ever. UsageError for a radius that is negative, not finite or above a million.
PixelMask gaussian_blur(const PixelMask& mask, double radius);

// Pixels to add on each side.
struct Margins {
  int64_t left = 0, top = 0, right = 0, bottom = 0;
};

// The image on a larger canvas of one color, as ImageOps.expand: outpainting begins so. UsageError for a negative margin.
Pixels extended(const Pixels& image, const Margins& margins, const std::array<uint8_t, 3>& color);
PixelMask extended(const PixelMask& mask, const Margins& margins, uint8_t value);

}  // namespace hearth
