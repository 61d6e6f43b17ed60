// Control images that small exact filters make of any image.
#pragma once

#include <string>
#include <vector>

#include "media/pixels.h"

namespace hearth {

struct ControlFilter {
  std::string name, summary;
  struct Value {
    std::string name;
    double standard, least, most;
  };
  std::vector<Value> values;
};

//   canny:LOW:HIGH    edges, as cv2.Canny makes them (edges.h)
//   threshold:LEVEL   255 where a channel is above the level, else 0
//   blur:SIGMA        Pillow's Gaussian blur
//   tile:FACTOR       the image in 1/FACTOR of its size, averaged
//   invert            255 − value
//   shuffle:SEED      the image, distorted by a smooth random field
//   lineart           lines that are darker than what is around them, as A1111's "lineart_standard" finds them
const std::vector<ControlFilter>& control_filters();

// `how`: "canny", or with its values in their order, "canny:100:200". UsageError for anything else. "": the image itself.
Pixels control_image(const Pixels& image, const std::string& how);

}  // namespace hearth
