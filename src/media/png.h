// PNG pictures (ISO/IEC 15948) with their text.
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

// The bytes of an 8-bit RGB file. ShapeError where the pixels do not fit the size, UsageError for a keyword or text that PNG
// cannot hold.
std::string encode_png(const Pixels& image, std::span<const PngText> texts = {});

// encode_png, then write_file (core/file.h): the file appears whole or not at all.
void write_png(const std::filesystem::path& file, const Pixels& image, std::span<const PngText> texts = {});

// What a reader accepts. Everything is checked before memory is taken for it.
struct PngLimits {
  int64_t file_bytes = int64_t(1) << 30;
  int64_t pixels = int64_t(1) << 28;      // 16384 × 16384
  int64_t text_bytes = int64_t(1) << 26;  // one text chunk, unpacked
};

struct Png {
  Pixels image;                    // any colour type and depth as 8-bit RGB; transparency and colour profile are dropped
  std::vector<PngText> texts;      // tEXt, zTXt and iTXt in the order of the file
  std::vector<std::string> notes;  // what was odd or dropped, one line each
};

// `where` names the source in messages. IoError for anything that is no whole and sound PNG, or is beyond a limit.
Png decode_png(std::string_view bytes, std::string_view where, const PngLimits& limits = {});
Png read_png(const std::filesystem::path& file, const PngLimits& limits = {});

}  // namespace hearth
