// Images in requests and responses.
#pragma once

#include <string>
#include <string_view>

#include "hearth/image.h"

namespace hearth::server {

// ApiError 400 about the field `param` for bytes that are not a complete PNG, JPEG or WebP of at most `most_pixels`.
Image read_image(std::string_view bytes, const std::string& param, int64_t most_pixels);
// The same for base64 text, alone or in a data URL. Links are refused: the server fetches nothing.
Image read_image_text(std::string_view text, const std::string& param, int64_t most_pixels);
std::string image_bytes_of(std::string_view text, const std::string& param);

// How images of a response are written.
struct ImageForm {
  std::string format = "png";  // "png", "jpeg", "webp"
  int quality = 100;           // of jpeg and webp, 1 … 100
  bool lossless = false;       // of webp
};
std::string encoded(const Image& image, const ImageForm& form);  // the file's bytes, with the image's metadata
std::string content_type_of(const ImageForm& form);

// White where the image is transparent, as a mask for Editing::mask: the mask of OpenAI's API.
Image mask_of_transparency(const Image& image);
// Over white, without transparency, as A1111 does with input images.
Image over_white(Image image);

}  // namespace hearth::server
