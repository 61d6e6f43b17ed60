// Images in memory, and from and into files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hearth {

enum class JpegChroma { half /* 4:2:0 */, full /* 4:4:4 */ };

// How an image is written. What the file's format has no use for is refused.
struct SaveOptions {
  std::optional<int> png_bits;            // 8 (default) or 16 for each color
  std::optional<int> quality;             // of a JPEG 1 to 100, of a WebP 0 to 100; default 90
  bool lossless = false;                  // a WebP that keeps every pixel
  std::optional<JpegChroma> jpeg_chroma;  // default: half
};

// 8-bit RGB, row by row from the top left.
struct Image {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb;     // 3 · width · height
  std::string parameters;       // how it was made, as A1111 writes it
  std::string json;             // the same in full: request, resolved values, model hashes, version
  std::vector<uint8_t> alpha;   // width · height, 255: opaque; empty: opaque everywhere
  std::vector<uint16_t> rgb16;  // the same image in 16 bits; empty unless asked for by Request::deep_color or loaded from a 16-bit PNG

  // Writes PNG, JPEG or WebP, whichever the name ends in, with `parameters` and `json` (PNG: text chunks; JPEG, WebP: EXIF
  // UserComment and XMP). The file appears whole or not at all. IoError; UsageError for another ending and for options, a size,
  // transparency or texts that the format cannot hold.
  void save(const std::filesystem::path& file, const SaveOptions& options = {}) const;
  // PNG, JPEG or WebP, known by its bytes; turned upright as EXIF says. IoError, UnsupportedError.
  static Image load(const std::filesystem::path& file);
};

}  // namespace hearth
