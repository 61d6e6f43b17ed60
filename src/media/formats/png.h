// PNG images (ISO/IEC 15948) with their text.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "media/pixels.h"

namespace hearth {

// One text chunk, in UTF-8. In the file: tEXt (Latin-1) where every character is in Latin-1, iTXt (UTF-8) otherwise, as Pillow and
// hence A1111 write them.
struct PngText {
  std::string keyword;  // 1 to 79 printable ASCII characters, no space at either end
  std::string text;     // no zero byte

  friend bool operator==(const PngText&, const PngText&) = default;
};

// The bytes of a file of 8 or 16 bits, RGB, or RGBA where `alpha` is not 0 × 0. ShapeError where the pixels do not fit the size,
// UsageError for a keyword or text that PNG cannot hold.
std::string encode_png(const Pixels& image, std::span<const PngText> texts = {}, const PixelMask& alpha = {});
std::string encode_png(const DeepPixels& image, std::span<const PngText> texts = {}, const PixelMask& alpha = {});

// encode_png, then write_file (core/files/file.h): the file appears whole or not at all.
void write_png(const std::filesystem::path& file, const Pixels& image, std::span<const PngText> texts = {});

struct Png {
  Pixels image;                    // any color type and depth as 8-bit RGB, of 16 bits the upper 8; color profiles are dropped
  DeepPixels deep;                 // the same of a 16-bit file; 0 × 0 of others
  PixelMask alpha;                 // 0 × 0 where the file has no transparency
  std::string kind;                // "8 bits, RGB, interlaced"
  std::vector<PngText> texts;      // tEXt, zTXt and iTXt in the order of the file
  std::string exif;                // as it stands in the file; "" without
  std::vector<std::string> notes;  // what was odd or dropped, one line each
};

// The pixels are those of Pillow's convert("RGB"), but for gray of 16 bits, which Pillow cuts off at level 255 and which is read as
// other 16-bit images here. `where` names the source in messages. IoError for anything that is no whole and sound PNG, or is beyond
// a limit. Of an animated PNG the image that every reader shows.
Png decode_png(std::string_view bytes, std::string_view where, const ImageLimits& limits = {});
Png read_png(const std::filesystem::path& file, const ImageLimits& limits = {});

}  // namespace hearth
