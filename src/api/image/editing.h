// Between the images that a request brings and those that a model is given and gives.
#pragma once

#include <optional>

#include "api/image/loaded_model.h"
#include "media/editing/overlay.h"
#include "models/image_model.h"

namespace hearth::api {

// A request's image and mask, ready for the run, and what its images are put back into.
struct Canvas {
  int64_t width = 0, height = 0;  // of the run
  models::ImageEdit edit;
  std::vector<std::string> warnings;

  bool puts_back = false;
  Pixels original;               // of the result's size
  PixelMask mask;                // the same
  std::optional<Region> region;  // that the run is of, where it is not the whole

  // What was painted, laid under what was not masked. `painted` is one of the run's images.
  Pixels put_back(const Pixels& painted) const;
  DeepPixels put_back(const DeepPixels& painted) const;  // of the whole
};

// None where the request has no image. `factor`: the sides that a run can have are its multiples. UsageError for what does not go
// together: a mask of another size, without an image, with nothing in it where only that is to be painted; margins that cannot be.
std::optional<Canvas> prepare_canvas(const Request& request, int64_t factor);

// The request's depth map, where it has one. UnsupportedError with what changes the image's geometry: a part of it alone, another canvas,
// another shape.
std::optional<models::DepthMap> depth_of(const Request& request);

// Of an image's size, pixels and transparency.
std::string sum_of(const Image& image);

}  // namespace hearth::api
