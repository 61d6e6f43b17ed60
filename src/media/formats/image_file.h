// An image from a file of any kind that is read, and into one. The kind of a file is known from its bytes, never from its name.
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

// By the first bytes (64 suffice). None where they are no image's; UnsupportedError that names the format for an image of a kind that
// is not read: GIF, BMP, TIFF, AVIF, HEIC, JPEG XL, JPEG 2000, and others. `where` names the source in messages.
std::optional<ImageFormat> image_format(std::string_view bytes, std::string_view where);

struct LoadedImage {
  ImageFormat format = ImageFormat::png;
  std::string kind;         // "8 bits, palette", "baseline, YCbCr 4:2:0", "lossless"
  int64_t orientation = 1;  // as the file says (media/metadata/orientation.h); it has been applied
  Pixels image;             // as Pillow's ImageOps.exif_transpose and convert("RGB") show it
  DeepPixels deep;          // of a 16-bit PNG; 0 × 0 of others
  PixelMask alpha;          // 0 × 0 where the file has no transparency

  // How it was made, in whatever field a program wrote it: `parameters` (A1111's, also from EXIF, stable-diffusion.cpp's XMP and JPEG
  // comments), `hearth`, `prompt` and `workflow` (ComfyUI's JSON, also from EXIF); and what else PNG text, UserComment and comments say.
  std::vector<PngText> texts;
  std::vector<std::string> notes;                           // what was odd or dropped, one line each
  const std::string* find(std::string_view keyword) const;  // the first text of that keyword; nullptr without one
};

// IoError for anything that is no whole and sound image, or is beyond a limit; UnsupportedError as image_format, and for an animated
// WebP.
LoadedImage decode_image(std::string_view bytes, std::string_view where, const ImageLimits& limits = {});
LoadedImage read_image(const std::filesystem::path& file, const ImageLimits& limits = {});

}  // namespace hearth
