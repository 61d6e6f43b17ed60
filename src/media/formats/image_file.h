// Reads image files of any supported format. The format is determined by the bytes of a file, never by its name.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "media/formats/jpeg.h"
#include "media/formats/png.h"
#include "media/pixels.h"

namespace hearth {

enum class ImageFormat { png, jpeg, webp };

const char* name_of(ImageFormat format);  // "PNG"

// The format by the first bytes (64 suffice); nullopt if they are not those of an image. UnsupportedError that names the format for an
// image in an unsupported one: GIF, BMP, TIFF, AVIF, HEIC, JPEG XL, JPEG 2000, and others. `where` names the source in messages.
std::optional<ImageFormat> image_format(std::string_view bytes, std::string_view where);

struct LoadedImage {
  ImageFormat format = ImageFormat::png;
  std::string kind;         // "8 bits, palette", "baseline, YCbCr 4:2:0", "lossless"
  int64_t orientation = 1;  // as stored in the file (media/metadata/orientation.h); it has been applied
  Pixels image;             // like Pillow's ImageOps.exif_transpose and convert("RGB")
  DeepPixels deep;          // of a 16-bit PNG; otherwise 0 × 0
  PixelMask alpha;          // 0 × 0 if the file has no transparency

  // Generation metadata from every field that programs use: `parameters` (A1111's, also from EXIF, stable-diffusion.cpp's XMP and JPEG
  // comments), `hearth`, `prompt` and `workflow` (ComfyUI's JSON, also from EXIF), and all other PNG texts, UserComment and comments.
  std::vector<PngText> texts;
  std::vector<std::string> notes;                           // unusual or dropped contents, one line each
  const std::string* find(std::string_view keyword) const;  // the first text with that keyword; nullptr if there is none
};

// IoError for anything that is not a complete, valid image, or exceeds a limit; UnsupportedError like image_format(), and for an animated
// WebP.
LoadedImage decode_image(std::string_view bytes, std::string_view where, const ImageLimits& limits = {});
LoadedImage read_image(const std::filesystem::path& file, const ImageLimits& limits = {});

}  // namespace hearth
