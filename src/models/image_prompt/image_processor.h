// Preparation of an image for a vision tower, after transformers' SiglipImageProcessor and CLIPImageProcessor 4.57.1.
#pragma once

#include <array>

#include "core/files/config.h"
#include "media/editing/resample.h"

namespace hearth::models::image_prompt {

// A preprocessor_config.json; the defaults are the reference's.
struct ImageProcessor {
  int64_t width = 224, height = 224;
  bool crops = false;               // resizes until the image covers width × height, of equal sides, and cuts out its middle
  Filter filter = Filter::bicubic;  // of Pillow
  double factor = 1 / 255.0;        // rescale_factor
  std::array<float, 3> mean{0.5f, 0.5f, 0.5f}, deviation{0.5f, 0.5f, 0.5f};

  // Reads every key. UnsupportedError names one that would change the result and is not supported, WeightError a malformed one.
  static ImageProcessor from(const Config& config);
  // The same of a CLIPImageProcessor, which crops.
  static ImageProcessor from_clip(const Config& config);
  // CLIPImageProcessor(size=side, crop_size=side), as diffusers makes it for an image encoder.
  static ImageProcessor clip(int64_t side);

  // Resizes the image to width × height in 8 bits, whatever its aspect ratio, or else crops it; then (pixel · factor − mean) / deviation of
  // each color.
  // → [1, height, width, 3] on a host, bit-identical to the reference's.
  Tensor operator()(const Pixels& image, Backend& host) const;

 private:
  void read_common(const Config& config);  // all but sizes and class; finishes
};

}  // namespace hearth::models::image_prompt
