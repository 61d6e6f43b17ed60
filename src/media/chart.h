// Curves on two logarithmic axes, with labels.
#pragma once

#include <string>
#include <vector>

#include "media/pixels.h"

namespace hearth {

struct Curve2D {
  std::string name;
  std::vector<double> x, y;  // positive; the curve has a gap at values that are not positive or not finite
};

struct Chart {
  std::string title, x_label, y_label;
  std::vector<Curve2D> curves;  // up to 24 have distinct colors and marks
  int64_t width = 960, height = 600;
};

// UsageError if no curve has a point, or the image is too small for the names of its curves.
Pixels draw(const Chart& chart);

}  // namespace hearth
