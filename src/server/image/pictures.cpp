#include "server/image/pictures.h"

#include <fmt/format.h>

#include "core/error.h"
#include "server/api/base64.h"
#include "server/api_error.h"

namespace hearth::server {
namespace {

[[noreturn]] void refuse(const std::string& param, const std::string& what) {
  throw ApiError(400, fmt::format("{}: {}", param, what), param, "invalid_image");
}

}  // namespace

Image read_image(std::string_view bytes, const std::string& param, int64_t most_pixels) {
  if (bytes.empty()) refuse(param, "the image is empty");
  try {
    return Image::decode(bytes, param, most_pixels);
  } catch (const Error& e) { throw ApiError(400, e.what(), param, "invalid_image"); }
}

std::string image_bytes_of(std::string_view text, const std::string& param) {
  if (text.starts_with("http://") || text.starts_with("https://"))
    refuse(param, "is a link, which the server does not follow; expected the image in base64, or a data URL");
  if (text.starts_with("data:")) {
    const size_t comma = text.find(',');
    const std::string_view head = text.substr(0, comma);
    if (comma == text.npos || !head.ends_with(";base64")) refuse(param, "is a data URL without base64, expected data:image/png;base64,…");
    text.remove_prefix(comma + 1);
  }
  auto bytes = from_base64(text);
  if (!bytes) refuse(param, "is not base64");
  return *std::move(bytes);
}

Image read_image_text(std::string_view text, const std::string& param, int64_t most_pixels) {
  return read_image(image_bytes_of(text, param), param, most_pixels);
}

std::string encoded(const Image& image, const ImageForm& form) {
  SaveOptions how;
  if (form.format == "webp" && form.lossless) how.lossless = true;
  else if (form.format != "png") how.quality = form.quality;
  return image.encode("image." + form.format, how);
}

std::string content_type_of(const ImageForm& form) { return "image/" + form.format; }

Image mask_of_transparency(const Image& image) {
  Image mask{.width = image.width, .height = image.height, .rgb = std::vector<uint8_t>(image.rgb.size())};
  for (size_t i = 0; i < image.alpha.size(); ++i)
    for (size_t c = 0; c < 3; ++c) mask.rgb[3 * i + c] = uint8_t(255 - image.alpha[i]);
  return mask;
}

Image over_white(Image image) {
  for (size_t i = 0; i < image.alpha.size(); ++i)
    for (size_t c = 0; c < 3; ++c) {
      const uint32_t a = image.alpha[i];
      image.rgb[3 * i + c] = uint8_t((image.rgb[3 * i + c] * a + 255 * (255 - a) + 127) / 255);
    }
  image.alpha.clear();
  image.rgb16.clear();
  return image;
}

}  // namespace hearth::server
