// Rectangles of images: where a mask paints, and what around it is painted together with it.
#pragma once

#include <optional>

#include "media/pixels.h"

namespace hearth {

struct Region {
  int64_t left = 0, top = 0, right = 0, bottom = 0;  // right and bottom are one past the last pixel
  int64_t width() const { return right - left; }
  int64_t height() const { return bottom - top; }

  friend bool operator==(const Region&, const Region&) = default;
};

// The smallest region that holds all pixels that are not 0; none where all are.
std::optional<Region> masked_region(const PixelMask& mask);

// `region` with `padding` pixels more on each side, as far as the image goes, then made as wide for its height as width × height is, as
// far as the image goes: the "only masked" region of A1111 and diffusers (VaeImageProcessor.get_crop_region). UsageError for a
// negative padding.
Region grown(const Region& region, int64_t padding, const PixelMask& mask, int64_t width, int64_t height);

// ShapeError for a region that is not in the image.
Pixels cropped(const Pixels& image, const Region& region);
PixelMask cropped(const PixelMask& mask, const Region& region);

}  // namespace hearth
