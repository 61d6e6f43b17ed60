// The parts of EXIF (CIPA DC-008) that generated images use: Orientation, texts, and UserComment, which holds A1111's `parameters` in JPEG
// and WebP files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

struct Exif {
  std::optional<int64_t> orientation;                   // as stored; only 1 to 8 have a meaning
  std::string user_comment;                             // converted to UTF-8; "" if absent
  std::vector<std::pair<uint16_t, std::string>> texts;  // ASCII fields of the main directory: tag, text as UTF-8
};

// Reads a block of EXIF in either byte order, with or without "Exif\0\0" before it. Never fails: fields that are damaged or point outside
// the block are ignored.
Exif parse_exif(std::string_view bytes);

// A block, from the TIFF header on, that holds only this comment, in UTF-16 like A1111 (piexif). UsageError for text that is not UTF-8.
std::string write_exif(std::string_view user_comment);

}  // namespace hearth
