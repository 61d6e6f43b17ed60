#include "models/qwen_image/images.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/on_host.h"
#include "parts/config_reading.h"

namespace hearth::models::qwen_image {
namespace {

// To the nearest multiple, halves to even, as Python rounds.
int64_t nearest(double x, int64_t unit) { return int64_t(std::nearbyint(x / double(unit))) * unit; }

std::array<float, 3> colors(const Config& c, const char* key, const std::array<float, 3>& otherwise) {
  if (!c.has(key)) return otherwise;
  const std::vector<double> values = c.numbers(key);
  if (values.size() != 3) fail<WeightError>("{}: '{}' has {} values, expected 3", c.where(), key, values.size());
  return {float(values[0]), float(values[1]), float(values[2])};
}

}  // namespace

std::array<int64_t, 2> size_of_area(double area, int64_t height, int64_t width) {
  const double ratio = double(width) / double(height), wide = std::sqrt(area * ratio), high = wide / ratio;
  return {nearest(high, 32), nearest(wide, 32)};
}

std::array<int64_t, 2> size_of_reference(int64_t height, int64_t width) { return size_of_area(1024.0 * 1024, height, width); }

ImagePreparation ImagePreparation::from(const Config& c, const parts::QwenVisionConfig& tower) {
  c.only("image_processor_type", {"Qwen2VLImageProcessor", "Qwen2VLImageProcessorFast"});
  for (const char* key : {"do_resize", "do_rescale", "do_normalize", "do_convert_rgb"}) c.only(key, true);
  for (const char* key : {"do_center_crop", "do_pad"}) c.only(key, false);
  c.only_number("resample", 3);  // bicubic
  if (std::abs(c.number("rescale_factor", 1 / 255.0) - 1 / 255.0) > 1e-12) c.only_number("rescale_factor", 1 / 255.0);
  c.only_number("patch_size", double(tower.patch));
  c.only_number("merge_size", double(tower.merge));
  c.only_number("temporal_patch_size", double(tower.frames));
  ImagePreparation p{.unit = tower.unit()};
  if (c.has("size")) {
    const Config size = c.object("size");
    p.least_pixels = parts::positive_integer(size, "shortest_edge", p.least_pixels);
    p.most_pixels = parts::positive_integer(size, "longest_edge", p.most_pixels);
    size.no_effect({"min_pixels", "max_pixels"});
    size.finish();
  }
  if (c.has("min_pixels")) p.least_pixels = parts::positive_integer(c, "min_pixels", p.least_pixels);
  if (c.has("max_pixels")) p.most_pixels = parts::positive_integer(c, "max_pixels", p.most_pixels);
  if (p.least_pixels > p.most_pixels)
    fail<WeightError>("{}: at least {} and at most {} pixels, expected the smaller number first", c.where(), p.least_pixels, p.most_pixels);
  p.mean = colors(c, "image_mean", p.mean), p.deviation = colors(c, "image_std", p.deviation);
  for (const float deviation : p.deviation)
    if (deviation == 0) fail<WeightError>("{}: 'image_std' contains 0, expected other values", c.where());
  c.no_effect({"processor_class", "data_format", "default_to_square"});
  c.no_effect_where_off();
  c.finish();
  return p;
}

std::array<int64_t, 2> ImagePreparation::size_of(int64_t height, int64_t width) const {
  if (double(std::max(height, width)) / double(std::min(height, width)) > 200)
    fail<UsageError>("generate: a reference image is {}×{}, expected no side more than 200 times the other", width, height);
  const auto h = double(height), w = double(width), u = double(unit);
  std::array<int64_t, 2> size{nearest(h, unit), nearest(w, unit)};
  if (size[0] * size[1] > most_pixels) {
    const double factor = std::sqrt(h * w / double(most_pixels));
    const auto side = [&](double x) { return std::max(unit, int64_t(std::floor(x / factor / u)) * unit); };
    size = {side(h), side(w)};
  } else if (size[0] * size[1] < least_pixels) {
    const double factor = std::sqrt(double(least_pixels) / (h * w));
    const auto side = [&](double x) { return int64_t(std::ceil(x * factor / u)) * unit; };
    size = {side(h), side(w)};
  }
  return size;
}

Pixels ImagePreparation::resized(const Pixels& image) const {
  const auto [height, width] = size_of(image.height, image.width);
  return resize(image, width, height, Filter::bicubic);
}

Tensor ImagePreparation::normalized(const Pixels& image, Backend& host) const {
  return written_on_host(host, {image.height, image.width, 3}, DType::f32, [&](Tensor& y) {
    float* values = y.data<float>();
    for (size_t i = 0; i < image.rgb.size(); ++i)  // rescaled in f64 and rounded, then in f32, as the reference does
      values[i] = (float(double(image.rgb[i]) * (1 / 255.0)) - mean[i % 3]) / deviation[i % 3];
  });
}

}  // namespace hearth::models::qwen_image
