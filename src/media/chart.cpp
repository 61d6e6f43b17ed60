#include "media/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "media/canvas.h"

namespace hearth {
namespace {

constexpr Color white{255, 255, 255}, black{20, 20, 20}, gray{205, 205, 205}, faint{236, 236, 236};
constexpr std::array<Color, 8> colors{
    {{31, 119, 180}, {214, 39, 40}, {44, 160, 44}, {148, 103, 189}, {230, 126, 14}, {23, 170, 190}, {140, 86, 75}, {227, 80, 170}}};

bool drawable(double x, double y) { return std::isfinite(x) && std::isfinite(y) && x > 0 && y > 0; }

// One axis: the values `least` and `most` are at the pixels `from` and `to`.
struct Axis {
  double least = HUGE_VAL, most = 0;
  double from = 0, to = 0;

  void include(double v) { least = std::min(least, v), most = std::max(most, v); }
  // A margin at both ends.
  void widen() {
    const double room = std::max(std::pow(most / least, 0.04), 1.05);
    least /= room, most *= room;
  }
  double at(double v) const { return from + (to - from) * std::log(v / least) / std::log(most / least); }
  bool holds(double v) const { return v >= least && v <= most; }
};

std::string number(double v) { return v >= 1e-3 && v < 1e5 ? fmt::format("{:g}", v) : fmt::format("1e{}", std::lround(std::log10(v))); }

// Squares, rings and crosses distinguish curves of the same color.
void mark(Canvas& canvas, double x, double y, size_t kind, Color color) {
  if (kind == 0) return canvas.disc(x, y, 3, color);
  if (kind == 1) {
    for (const double side : {-3.0, 3.0})
      canvas.line(x - 3, y + side, x + 3, y + side, 1.5, color), canvas.line(x + side, y - 3, x + side, y + 3, 1.5, color);
    return;
  }
  for (const double side : {-3.0, 3.0}) canvas.line(x - 3, y - side, x + 3, y + side, 1.5, color);
}

}  // namespace

Pixels draw(const Chart& chart) {
  Axis x, y;
  size_t longest = 0;
  for (const Curve2D& curve : chart.curves) {
    longest = std::max(longest, curve.name.size());
    for (size_t i = 0; i < curve.x.size(); ++i)
      if (drawable(curve.x[i], curve.y[i])) x.include(curve.x[i]), y.include(curve.y[i]);
  }
  if (x.most == 0) fail<UsageError>("chart: no curve has a valid point, expected positive values");
  x.widen(), y.widen();
  const int64_t names = text_width(std::string(longest, ' ')) + 40, line_height = 14;
  const int64_t left = 70, top = 40, right = chart.width - names - 16, bottom = chart.height - 56;
  if (right - left < 100 || bottom - top < std::max<int64_t>(100, line_height * int64_t(chart.curves.size())))
    fail<UsageError>("chart: {}×{} pixels are too few for {} curves", chart.width, chart.height, chart.curves.size());
  x.from = double(left), x.to = double(right), y.from = double(bottom), y.to = double(top);

  Canvas canvas(chart.width, chart.height, white);
  canvas.text(left, 14, chart.title, black, 2);
  canvas.text((left + right - text_width(chart.x_label)) / 2, chart.height - 24, chart.x_label, black);
  canvas.text_upwards(14, (top + bottom + text_width(chart.y_label)) / 2, chart.y_label, black);
  const auto ticks = [&](const Axis& axis, const auto& tick) {
    const bool few = axis.most / axis.least < 300;  // then 2 and 5 are labeled, too
    for (int exponent = int(std::floor(std::log10(axis.least))); std::pow(10, exponent) <= axis.most; ++exponent)
      for (int digit = 1; digit < 10; ++digit)
        if (const double v = digit * std::pow(10, exponent); axis.holds(v))
          tick(v, digit == 1, digit == 1 || (few && (digit == 2 || digit == 5)));
  };
  ticks(x, [&](double v, bool strong, bool named) {
    canvas.line(x.at(v), double(top), x.at(v), double(bottom), 1, strong ? gray : faint);
    if (named) canvas.text(std::lround(x.at(v)) - text_width(number(v)) / 2, bottom + 8, number(v), black);
  });
  ticks(y, [&](double v, bool strong, bool named) {
    canvas.line(double(left), y.at(v), double(right), y.at(v), 1, strong ? gray : faint);
    if (named) canvas.text(left - 6 - text_width(number(v)), std::lround(y.at(v)) - 4, number(v), black);
  });
  canvas.line(double(left), double(bottom), double(right), double(bottom), 1, black);
  canvas.line(double(left), double(top), double(left), double(bottom), 1, black);

  for (size_t k = 0; k < chart.curves.size(); ++k) {
    const Curve2D& curve = chart.curves[k];
    const Color color = colors[k % colors.size()];
    const size_t kind = k / colors.size() % 3;
    for (size_t i = 0; i < curve.x.size(); ++i) {
      if (!drawable(curve.x[i], curve.y[i])) continue;
      const double px = x.at(curve.x[i]), py = y.at(curve.y[i]);
      if (i > 0 && drawable(curve.x[i - 1], curve.y[i - 1])) canvas.line(x.at(curve.x[i - 1]), y.at(curve.y[i - 1]), px, py, 1.4, color);
      mark(canvas, px, py, kind, color);
    }
    const int64_t row = top + 6 + line_height * int64_t(k);
    canvas.line(double(right + 16), double(row), double(right + 36), double(row), 1.4, color);
    mark(canvas, double(right + 26), double(row), kind, color);
    canvas.text(right + 42, row - 4, curve.name, black);
  }
  return canvas.pixels;
}

}  // namespace hearth
