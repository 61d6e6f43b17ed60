// The demo model, as `hearth generate` runs it, and images for requests.
#pragma once

#include <gtest/gtest.h>

#include "hearth/hearth.h"
#include "server/api/base64.h"

namespace hearth::server::test {

inline Model& demo() {
  static Model model = Model::open_demo();
  return model;
}

// The pixels of `hearth generate` for this request.
inline Generation generated(const Request& request) { return demo().generate(request); }

// An image with a pattern, and its file.
inline Image pattern(int64_t width, int64_t height) {
  Image image{.width = width, .height = height, .rgb = {}};
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (const int64_t v : {x * 255 / width, y * 255 / height, (x / 8 + y / 8) % 2 * 200}) image.rgb.push_back(uint8_t(v));
  return image;
}

// White, and of the given opacity in the left half; opaque in the right one.
inline Image half_transparent(int64_t width, int64_t height, uint8_t opacity = 0) {
  Image image{.width = width, .height = height, .rgb = std::vector<uint8_t>(size_t(3 * width * height), 255)};
  for (int64_t i = 0; i < width * height; ++i) image.alpha.push_back(i % width < width / 2 ? opacity : 255);
  return image;
}

// White in the left half, else black.
inline Image half_white(int64_t width, int64_t height) {
  Image image{.width = width, .height = height, .rgb = {}};
  for (int64_t i = 0; i < width * height; ++i) image.rgb.insert(image.rgb.end(), 3, i % width < width / 2 ? 255 : 0);
  return image;
}

inline std::string png(const Image& image) { return image.encode("image.png"); }
inline std::string png_text(const Image& image) { return base64(png(image)); }

inline Image image_of(const std::string& text) {
  const auto bytes = from_base64(text);
  EXPECT_TRUE(bytes.has_value());
  return Image::decode(bytes.value_or(""), "the response");
}

}  // namespace hearth::server::test
