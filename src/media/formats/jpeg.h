// JPEG images (ITU-T T.81, through libjpeg-turbo) with their EXIF, XMP and comments. JPEG has no transparency.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "media/pixels.h"

namespace hearth {

struct Jpeg {
  Pixels image;                       // as stored: the orientation of EXIF is not applied
  std::string kind;                   // "baseline, YCbCr 4:2:0"
  std::string exif, xmp;              // as stored; "" if absent
  std::vector<std::string> comments;  // the comment segments, read as UTF-8 or else Latin-1
  std::vector<std::string> notes;     // unusual or dropped contents, one line each
};

// Decodes baseline, extended, progressive and arithmetic-coded files of 8 bits: gray, YCbCr, RGB, and CMYK and YCCK with inverted values,
// as in Adobe's programs and Pillow. The pixels are those of Pillow: exact integer DCT, smooth chroma upsampling, and its conversion of
// CMYK. `where` names the source in messages. IoError for anything that is not a complete, valid JPEG, or exceeds a limit; UnsupportedError
// for other bit depths and numbers of channels.
Jpeg decode_jpeg(std::string_view bytes, std::string_view where, const ImageLimits& limits = {});

enum class Chroma { half /* 4:2:0 */, full /* 4:4:4 */ };

struct JpegOptions {
  int quality = 90;  // 1 to 100, on the scale of libjpeg and Pillow
  Chroma chroma = Chroma::half;
  std::string_view exif = {}, xmp = {};  // at most 65 527 and 65 504 bytes
};

inline constexpr int64_t longest_jpeg_side = 65'500;

// The bytes of a baseline file. ShapeError if the number of pixels does not match the size; UsageError for a quality, side or metadata size
// out of range.
std::string encode_jpeg(const Pixels& image, const JpegOptions& options = {});

}  // namespace hearth
