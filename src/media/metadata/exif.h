// The parts of EXIF (CIPA DC-008) that images of this field use: Orientation, texts, and UserComment, where A1111's web UI writes
// `parameters` into JPEG and WebP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

struct Exif {
  std::optional<int64_t> orientation;                   // as the file says; only 1 to 8 mean something
  std::string user_comment;                             // UTF-8, whatever the file's characters are; "" without one
  std::vector<std::pair<uint16_t, std::string>> texts;  // ASCII fields of the main directory: tag, text as UTF-8
};

// A block of EXIF with or without "Exif\0\0" before it, in either byte order. Never fails: what is damaged or points out of the
// block is left out.
Exif parse_exif(std::string_view bytes);

// A block, from the TIFF header on, that holds nothing but this comment, in UTF-16 as A1111 (piexif) writes it. UsageError for text
// that is not UTF-8.
std::string write_exif(std::string_view user_comment);

}  // namespace hearth
