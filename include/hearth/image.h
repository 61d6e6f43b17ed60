// Images in memory; loading and saving image files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

enum class JpegChroma { half /* 4:2:0 */, full /* 4:4:4 */ };

// How an image is saved. Options that do not apply to the file's format are a UsageError.
struct SaveOptions {
  std::optional<int> png_bits;            // per channel: 8 (default) or 16
  std::optional<int> quality;             // JPEG: 1 to 100, WebP: 0 to 100; default 90
  bool lossless = false;                  // WebP: keep every pixel exactly
  std::optional<JpegChroma> jpeg_chroma;  // default: half
};

// 8-bit RGB, row by row from the top left.
struct Image {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb;     // 3 · width · height
  std::string parameters;       // metadata: the generation parameters in A1111's format
  std::string json;             // metadata: request, resolved values, model hashes, version
  std::vector<uint8_t> alpha;   // width · height, 255: opaque; empty: opaque everywhere
  std::vector<uint16_t> rgb16;  // the same image in 16 bits; empty unless Request::deep_color is set or it was loaded from a 16-bit PNG

  // Writes PNG, JPEG or WebP, chosen by the file name's extension, with `parameters` and `json` as metadata (PNG: text chunks; JPEG, WebP:
  // EXIF UserComment and XMP). Writes atomically. IoError; UsageError for another extension and for options, sizes, transparency or
  // metadata that the format does not support.
  void save(const std::filesystem::path& file, const SaveOptions& options = {}) const;
  // The bytes that save() would write to a file of that name.
  std::string encode(const std::filesystem::path& name, const SaveOptions& options = {}) const;
  // Reads PNG, JPEG or WebP, detected by content, and applies the EXIF orientation. IoError, UnsupportedError.
  static Image load(const std::filesystem::path& file);
  // The same for a file's bytes. `where` names them in messages; IoError before anything is decoded if there are more than `most_pixels`.
  static Image decode(std::string_view bytes, std::string_view where, int64_t most_pixels = int64_t(1) << 28);
};

}  // namespace hearth
