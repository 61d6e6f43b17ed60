// PNG images (ISO/IEC 15948) with their texts.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "media/pixels.h"

namespace hearth {

// One text chunk, in UTF-8. In the file it is tEXt (Latin-1) if every character is in Latin-1, else iTXt (UTF-8), as Pillow and therefore
// A1111 write them.
struct PngText {
  std::string keyword;  // 1 to 79 printable ASCII characters, no space at either end
  std::string text;     // no zero byte

  friend bool operator==(const PngText&, const PngText&) = default;
};

// The bytes of a file of 8 or 16 bits, RGB, or RGBA if `alpha` is not 0 × 0. ShapeError if the number of pixels does not match the size;
// UsageError for a keyword or text that PNG cannot store.
std::string encode_png(const Pixels& image, std::span<const PngText> texts = {}, const PixelMask& alpha = {});
std::string encode_png(const DeepPixels& image, std::span<const PngText> texts = {}, const PixelMask& alpha = {});

// Writes the result of encode_png() atomically (write_file of core/files/file.h).
void write_png(const std::filesystem::path& file, const Pixels& image, std::span<const PngText> texts = {});

struct Png {
  Pixels image;                    // any color type and depth as 8-bit RGB, the upper 8 of 16 bits; color profiles are dropped
  DeepPixels deep;                 // the 16 bits of a 16-bit file; otherwise 0 × 0
  PixelMask alpha;                 // 0 × 0 if the file has no transparency
  std::string kind;                // "8 bits, RGB, interlaced"
  std::vector<PngText> texts;      // tEXt, zTXt and iTXt in the order of the file
  std::string exif;                // as stored; "" if absent
  std::vector<std::string> notes;  // unusual or dropped contents, one line each
};

// The pixels are those of Pillow's convert("RGB"), except for 16-bit gray, which Pillow clips at 255 and which is read like other 16-bit
// images here. An animated PNG yields its default image. `where` names the source in messages. IoError for anything that is not a complete,
// valid PNG, or exceeds a limit.
Png decode_png(std::string_view bytes, std::string_view where, const ImageLimits& limits = {});
Png read_png(const std::filesystem::path& file, const ImageLimits& limits = {});

}  // namespace hearth
