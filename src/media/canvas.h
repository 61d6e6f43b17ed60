// Drawing on a picture: what charts and contact sheets are made of. Coordinates are pixels from the top left corner; what lies outside is
// not drawn.
#pragma once

#include <string_view>

#include "media/pixels.h"

namespace hearth {

struct Colour {
  uint8_t red, green, blue;
};

struct Canvas {
  Canvas(int64_t width, int64_t height, Colour background);

  void fill(int64_t x, int64_t y, int64_t width, int64_t height, Colour colour);
  // From the middle of pixel (x0, y0) to that of (x1, y1), with soft edges.
  void line(double x0, double y0, double x1, double y1, double thickness, Colour colour);
  void disc(double x, double y, double radius, Colour colour);
  // The top left corner at (x, y). Each pixel of the typeface (font.h) becomes scale × scale.
  void text(int64_t x, int64_t y, std::string_view text, Colour colour, int64_t scale = 1);
  void text_upwards(int64_t x, int64_t y, std::string_view text, Colour colour, int64_t scale = 1);  // turned left; begins at the bottom y
  void picture(int64_t x, int64_t y, const Pixels& picture);

  Pixels pixels;

 private:
  void blend(int64_t x, int64_t y, Colour colour, double cover);  // cover: 0 … 1
};

constexpr int64_t text_height = 8;  // of scale 1
int64_t text_width(std::string_view text, int64_t scale = 1);

}  // namespace hearth
