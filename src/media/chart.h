// Curves on two logarithmic axes, with labels.
#pragma once

#include <string>
#include <vector>

#include "media/pixels.h"

namespace hearth {

struct Curve2D {
  std::string name;
  std::vector<double> x, y;  // above 0; where one is not, or not finite, the curve is broken
};

struct Chart {
  std::string title, x_label, y_label;
  std::vector<Curve2D> curves;  // each with a color and a mark of its own up to 24
  int64_t width = 960, height = 600;
};

// UsageError where no curve has a point, or the image is too small for the names of its curves.
Pixels draw(const Chart& chart);

}  // namespace hearth
