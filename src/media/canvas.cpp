#include "media/canvas.h"

#include <algorithm>
#include <cmath>

#include "media/font.h"

namespace hearth {
namespace {

constexpr int64_t advance = glyph_columns + 1;

// Calls ink(column, row) for each set pixel of the glyph.
template <class Ink> void typeset(std::string_view text, const Ink& ink) {
  for (size_t i = 0; i < text.size(); ++i)
    for (int64_t row = 0; row < glyph_rows; ++row)
      for (int64_t column = 0; column < glyph_columns; ++column)
        if (glyph_pixel(text[i], column, row)) ink(int64_t(i) * advance + column, row);
}

}  // namespace

Canvas::Canvas(int64_t width, int64_t height, Color background) : pixels{.width = width, .height = height, .rgb = {}} {
  pixels.rgb.resize(size_t(3 * width * height));
  fill(0, 0, width, height, background);
}

void Canvas::blend(int64_t x, int64_t y, Color color, double cover) {
  if (x < 0 || y < 0 || x >= pixels.width || y >= pixels.height || cover <= 0) return;
  uint8_t* pixel = &pixels.rgb[size_t(3 * (y * pixels.width + x))];
  const uint8_t wanted[] = {color.red, color.green, color.blue};
  for (int c = 0; c < 3; ++c) pixel[c] = uint8_t(std::lround(std::lerp(double(pixel[c]), double(wanted[c]), std::min(cover, 1.0))));
}

void Canvas::fill(int64_t x, int64_t y, int64_t width, int64_t height, Color color) {
  for (int64_t j = y; j < y + height; ++j)
    for (int64_t i = x; i < x + width; ++i) blend(i, j, color, 1);
}

void Canvas::line(double x0, double y0, double x1, double y1, double thickness, Color color) {
  const double dx = x1 - x0, dy = y1 - y0, length = dx * dx + dy * dy, reach = thickness / 2 + 1;
  for (auto j = int64_t(std::floor(std::min(y0, y1) - reach)); j <= int64_t(std::ceil(std::max(y0, y1) + reach)); ++j)
    for (auto i = int64_t(std::floor(std::min(x0, x1) - reach)); i <= int64_t(std::ceil(std::max(x0, x1) + reach)); ++i) {
      const double along = length == 0 ? 0 : std::clamp(((double(i) - x0) * dx + (double(j) - y0) * dy) / length, 0.0, 1.0);
      blend(i, j, color, thickness / 2 + 0.5 - std::hypot(double(i) - x0 - along * dx, double(j) - y0 - along * dy));
    }
}

void Canvas::disc(double x, double y, double radius, Color color) { line(x, y, x, y, 2 * radius, color); }

void Canvas::text(int64_t x, int64_t y, std::string_view text, Color color, int64_t scale) {
  typeset(text, [&](int64_t column, int64_t row) { fill(x + column * scale, y + row * scale, scale, scale, color); });
}

void Canvas::text_upwards(int64_t x, int64_t y, std::string_view text, Color color, int64_t scale) {
  typeset(text, [&](int64_t column, int64_t row) { fill(x + row * scale, y - (column + 1) * scale, scale, scale, color); });
}

void Canvas::image(int64_t x, int64_t y, const Pixels& p) {
  for (int64_t j = 0; j < p.height; ++j)
    for (int64_t i = 0; i < p.width; ++i) {
      const uint8_t* from = &p.rgb[size_t(3 * (j * p.width + i))];
      blend(x + i, y + j, {from[0], from[1], from[2]}, 1);
    }
}

int64_t text_width(std::string_view text, int64_t scale) { return text.empty() ? 0 : (int64_t(text.size()) * advance - 1) * scale; }

}  // namespace hearth
