// WebP images (RFC 9649, through libwebp) with their EXIF and XMP.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "media/pixels.h"

namespace hearth {

struct WebP {
  Pixels image;                    // as stored: the orientation of EXIF is not applied
  PixelMask alpha;                 // 0 × 0 if the file has no transparency
  std::string kind;                // "lossy" or "lossless"
  std::string exif, xmp;           // as stored; "" if absent
  std::vector<std::string> notes;  // unusual or dropped contents, one line each
};

// Decodes a still image. `where` names the source in messages. IoError for anything that is not a complete, valid WebP, or exceeds a limit;
// UnsupportedError for an animation.
WebP decode_webp(std::string_view bytes, std::string_view where, const ImageLimits& limits = {});

struct WebPOptions {
  int quality = 90;                      // for lossy files: 0 to 100, on the scale of libwebp and Pillow
  bool lossless = false;                 // keeps every pixel exactly, even transparent ones; `quality` is ignored
  std::string_view exif = {}, xmp = {};  // omitted if ""
};

inline constexpr int64_t longest_webp_side = 16'383;

// The bytes of a file, with transparency if `alpha` is not 0 × 0. ShapeError if the number of pixels or alpha values does not match the
// size; UsageError for a quality or side out of range.
std::string encode_webp(const Pixels& image, const PixelMask& alpha, const WebPOptions& options = {});

}  // namespace hearth
