// Draws lines, text and images on an image, for charts and contact sheets. Coordinates are pixels from the top left corner; everything
// outside the image is clipped.
#pragma once

#include <string_view>

#include "media/pixels.h"

namespace hearth {

struct Color {
  uint8_t red, green, blue;
};

struct Canvas {
  Canvas(int64_t width, int64_t height, Color background);

  void fill(int64_t x, int64_t y, int64_t width, int64_t height, Color color);
  // From the center of pixel (x0, y0) to that of (x1, y1), antialiased.
  void line(double x0, double y0, double x1, double y1, double thickness, Color color);
  void disc(double x, double y, double radius, Color color);
  // With the top left corner at (x, y). Each pixel of the font (font.h) becomes scale × scale pixels.
  void text(int64_t x, int64_t y, std::string_view text, Color color, int64_t scale = 1);
  void text_upwards(int64_t x, int64_t y, std::string_view text, Color color,
                    int64_t scale = 1);  // rotated left by 90°; starts at the bottom, y
  void image(int64_t x, int64_t y, const Pixels& image);

  Pixels pixels;

 private:
  void blend(int64_t x, int64_t y, Color color, double cover);  // cover: 0 … 1
};

constexpr int64_t text_height = 8;  // at scale 1
int64_t text_width(std::string_view text, int64_t scale = 1);

}  // namespace hearth
