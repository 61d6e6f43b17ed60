// Rectangles of images: the bounding box of a mask, and the region around it that is regenerated with it.
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

// The smallest region that contains all nonzero pixels; nullopt if there are none.
std::optional<Region> masked_region(const PixelMask& mask);

// `region` with `padding` more pixels on each side, then extended to the aspect ratio of width × height, both clipped to the image: the
// "only masked" region of A1111 and diffusers (VaeImageProcessor.get_crop_region). UsageError for a negative padding.
Region grown(const Region& region, int64_t padding, const PixelMask& mask, int64_t width, int64_t height);

// ShapeError for a region that is not inside the image.
Pixels cropped(const Pixels& image, const Region& region);
PixelMask cropped(const PixelMask& mask, const Region& region);

}  // namespace hearth
