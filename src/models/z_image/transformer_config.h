// Configuration of Z-Image's transformer: transformer/config.json.
#pragma once

#include <vector>

#include "core/files/config.h"

namespace hearth::models::z_image {

struct TransformerConfig {
  int64_t channels = 16;  // of the latents
  int64_t width = 3840, heads = 30;
  int64_t layers = 30, refiner_layers = 2;  // refiner layers: of each of the two refiners
  int64_t text = 2560;                      // width of the text states
  bool qk_norm = true;
  double eps = 1e-5;  // of the norms around attention and MLP, and of the text's
  double theta = 256, time_scale = 1000;
  std::vector<int64_t> axes = {32, 48, 48};        // values of a head that each of the three axes of a position rotates
  std::vector<int64_t> places = {1024, 512, 512};  // positions on each axis: 0 … places − 1

  int64_t head() const { return width / heads; }
  int64_t mlp_width() const { return int64_t(double(width) / 3 * 8); }  // as the reference rounds it
  int64_t time_width() const { return width < 256 ? width : 256; }

  static constexpr int64_t patch = 2;      // sides of an image token, in latent pixels
  static constexpr int64_t multiple = 32;  // numbers of image and text tokens are padded to multiples of it
  static constexpr int64_t padded(int64_t tokens) { return (tokens + multiple - 1) / multiple * multiple; }

  // UnsupportedError names a key or value that is not supported; WeightError one that is malformed or contradicts another.
  static TransformerConfig from(const Config& config);

  friend bool operator==(const TransformerConfig&, const TransformerConfig&) = default;
};

}  // namespace hearth::models::z_image
