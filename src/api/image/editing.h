// Prepares a request's images for the model, and pastes the generated images back.
#pragma once

#include <optional>

#include "api/image/loaded_model.h"
#include "media/editing/overlay.h"
#include "models/image_model.h"

namespace hearth::api {

// A request's image and mask, prepared for the run, and the original that the results are pasted into.
struct Canvas {
  int64_t width = 0, height = 0;  // size of the run
  models::ImageEdit edit;
  std::vector<std::string> warnings;

  bool puts_back = false;
  Pixels original;               // has the size of the result
  PixelMask mask;                // the same
  std::optional<Region> region;  // the region that the run covers; absent: all

  // Replaces the unmasked pixels of `painted`, an image of the run, by those of the original.
  Pixels put_back(const Pixels& painted) const;
  DeepPixels put_back(const DeepPixels& painted) const;  // for runs without a region
};

// nullopt if the request has no image. `factor`: sides of a run are multiples of it. UsageError for an invalid combination: a mask of
// another size, a mask without an image, an empty mask with only_masked, invalid margins.
std::optional<Canvas> prepare_canvas(const Request& request, int64_t factor);

// The request's depth map, if any. UnsupportedError in combination with only_masked, outpaint or a resize mode, which change the image's
// geometry.
std::optional<models::DepthMap> depth_of(const Request& request);

// The request's control image, if any. Errors as depth_of().
std::optional<Pixels> control_of(const Request& request);
std::vector<Pixels> references_of(const Request& request);
// The request's control networks with their images, preprocessed. Errors as depth_of(); UsageError without a path or an image.
std::vector<models::ControlTask> controls_of(const Request& request);
// The request's image prompts with their images. Errors as controls_of().
std::vector<models::ImagePromptTask> image_prompts_of(const Request& request);

// SHA-256 of an image's size, pixels and transparency, in hexadecimal.
std::string sum_of(const Image& image);

}  // namespace hearth::api
