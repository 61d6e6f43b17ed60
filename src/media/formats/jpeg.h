// JPEG images (ITU-T T.81, through libjpeg-turbo) with their EXIF, XMP and comments. JPEG holds no transparency.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "media/pixels.h"

namespace hearth {

struct Jpeg {
  Pixels image;                       // as it lies in the file: the orientation that EXIF tells is not applied
  std::string kind;                   // "baseline, YCbCr 4:2:0"
  std::string exif, xmp;              // as they stand in the file; "" without
  std::vector<std::string> comments;  // the comment segments, UTF-8 (or read as Latin-1)
  std::vector<std::string> notes;     // what was odd or dropped, one line each
};

// Baseline, extended, progressive and arithmetic-coded files of 8 bits: gray, YCbCr, RGB, and CMYK and YCCK with inverted values as
// Adobe's programs and Pillow have it. The pixels are those of Pillow: exact integer DCT, smooth chroma upsampling, and its
// conversion of CMYK. `where` names the source in messages. IoError for anything that is no whole and sound JPEG, or is beyond a limit;
// UnsupportedError for other depths and numbers of colors.
Jpeg decode_jpeg(std::string_view bytes, std::string_view where, const ImageLimits& limits = {});

enum class Chroma { half /* 4:2:0 */, full /* 4:4:4 */ };

struct JpegOptions {
  int quality = 90;  // 1 to 100, as libjpeg and Pillow count
  Chroma chroma = Chroma::half;
  std::string_view exif = {}, xmp = {};  // at most 65 527 and 65 504 bytes
};

inline constexpr int64_t longest_jpeg_side = 65'500;

// The bytes of a baseline file. ShapeError where the pixels do not fit the size; UsageError for a quality, side or metadata beyond
// its range.
std::string encode_jpeg(const Pixels& image, const JpegOptions& options = {});

}  // namespace hearth
