// WebP images (RFC 9649, through libwebp) with their EXIF and XMP.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "media/pixels.h"

namespace hearth {

struct WebP {
  Pixels image;                    // as it lies in the file: the orientation that EXIF tells is not applied
  PixelMask alpha;                 // 0 × 0 where the file has no transparency
  std::string kind;                // "lossy" or "lossless"
  std::string exif, xmp;           // as they stand in the file; "" without
  std::vector<std::string> notes;  // what was odd or dropped, one line each
};

// A still image. `where` names the source in messages. IoError for anything that is no whole and sound WebP, or is beyond a limit;
// UnsupportedError for an animation.
WebP decode_webp(std::string_view bytes, std::string_view where, const ImageLimits& limits = {});

struct WebPOptions {
  int quality = 90;                      // lossy: 0 to 100, as libwebp and Pillow count
  bool lossless = false;                 // every pixel as it is, also where it is transparent; `quality` has no say
  std::string_view exif = {}, xmp = {};  // "" leaves them out
};

inline constexpr int64_t longest_webp_side = 16'383;

// The bytes of a file, with transparency where `alpha` is not 0 × 0. ShapeError where pixels or alpha do not fit the size; UsageError
// for a quality or side beyond its range.
std::string encode_webp(const Pixels& image, const PixelMask& alpha, const WebPOptions& options = {});

}  // namespace hearth
