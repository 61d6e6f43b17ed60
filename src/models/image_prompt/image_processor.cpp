#include "models/image_prompt/image_processor.h"

#include <algorithm>

#include "core/error.h"
#include "core/on_host.h"

namespace hearth::models::image_prompt {
namespace {

int64_t side(const Config& size, const char* key) {
  const int64_t value = size.integer(key);
  if (value < 1 || value > 1 << 14) fail<WeightError>("{}: '{}' = {}, expected 1 to {}", size.where(), key, value, 1 << 14);
  return value;
}

// Pillow's numbers.
Filter filter_of(const Config& c) {
  switch (const int64_t number = c.integer("resample", 3)) {
    case 0: return Filter::nearest;
    case 1: return Filter::lanczos;
    case 2: return Filter::bilinear;
    case 3: return Filter::bicubic;
    case 4: return Filter::box;
    default: fail<UnsupportedError>("{}: 'resample' = {} is not supported, expected 0 to 4", c.where(), number);
  }
}

// One number for all colors, or one of each.
std::array<float, 3> colors(const Config& c, const char* key, std::array<float, 3> otherwise) {
  if (!c.has(key)) return otherwise;
  if (c.dump(key)[0] != '[') {
    const auto value = float(c.number(key));
    return {value, value, value};
  }
  const std::vector<double> values = c.numbers(key);
  if (values.size() != 3) fail<WeightError>("{}: '{}' has {} values, expected 3", c.where(), key, values.size());
  return {float(values[0]), float(values[1]), float(values[2])};
}

// The shorter side becomes `side`, the other one is rounded down; the middle of it stays.
Pixels covering(const Pixels& image, int64_t side, Filter filter) {
  const int64_t shorter = std::min(image.width, image.height);
  const auto length = [&](int64_t given) { return given == shorter ? side : side * given / shorter; };
  const Pixels whole = resize(image, length(image.width), length(image.height), filter);
  const int64_t top = (whole.height - side) / 2, left = (whole.width - side) / 2;
  Pixels middle{.width = side, .height = side, .rgb = {}};
  for (int64_t y = 0; y < side; ++y) {
    const auto row = whole.rgb.begin() + 3 * ((top + y) * whole.width + left);
    middle.rgb.insert(middle.rgb.end(), row, row + 3 * side);
  }
  return middle;
}

}  // namespace

ImageProcessor ImageProcessor::clip(int64_t side) {
  return {.width = side,
          .height = side,
          .crops = true,
          .mean = {0.48145466f, 0.4578275f, 0.40821073f},
          .deviation = {0.26862954f, 0.26130258f, 0.27577711f}};
}

ImageProcessor ImageProcessor::from(const Config& c) {
  c.only("image_processor_type", {"SiglipImageProcessor", "SiglipImageProcessorFast"});
  c.only("feature_extractor_type", {"SiglipFeatureExtractor"});
  c.only("do_resize", true);
  for (const char* key : {"do_center_crop", "do_pad"}) c.only(key, false);
  ImageProcessor p;
  if (c.has("size")) {
    const Config size = c.object("size");
    p.width = side(size, "width"), p.height = side(size, "height");
    size.finish();
  }
  p.read_common(c);
  return p;
}

ImageProcessor ImageProcessor::from_clip(const Config& c) {
  c.only("image_processor_type", {"CLIPImageProcessor", "CLIPImageProcessorFast"});
  c.only("feature_extractor_type", {"CLIPFeatureExtractor"});
  for (const char* key : {"do_resize", "do_center_crop"}) c.only(key, true);
  c.only("do_pad", false);
  // Old files have a number instead of an object.
  const auto sides = [&](const char* key, std::initializer_list<const char*> names) -> std::vector<int64_t> {
    if (!c.has(key)) return {224};
    if (c.dump(key)[0] != '{') return {side(c, key)};
    const Config size = c.object(key);
    std::vector<int64_t> all;
    for (const char* name : names) all.push_back(side(size, name));
    size.finish();
    return all;
  };
  const int64_t shorter = sides("size", {"shortest_edge"})[0];
  for (const int64_t cut : sides("crop_size", {"height", "width"}))
    if (cut != shorter)
      fail<UnsupportedError>("{}: 'crop_size' = {} is not supported, expected the {} of 'size' each way", c.where(), c.dump("crop_size"),
                             shorter);
  ImageProcessor p = clip(shorter);
  p.read_common(c);
  return p;
}

void ImageProcessor::read_common(const Config& c) {
  filter = filter_of(c);
  factor = c.number("rescale_factor", 1 / 255.0);
  if (!c.boolean("do_rescale", true)) factor = 1;
  mean = colors(c, "image_mean", mean), deviation = colors(c, "image_std", deviation);
  if (!c.boolean("do_normalize", true)) mean = {0, 0, 0}, deviation = {1, 1, 1};
  for (const float d : deviation)
    if (d == 0) fail<WeightError>("{}: 'image_std' contains 0, expected other values", c.where());
  c.no_effect({"do_convert_rgb", "processor_class"});  // images are RGB
  c.no_effect_where_off();
  c.finish();
}

Tensor ImageProcessor::operator()(const Pixels& image, Backend& host) const {
  return written_on_host(host, {1, height, width, 3}, DType::f32, [&](Tensor& y) {
    const Pixels resized = crops ? covering(image, width, filter) : resize(image, width, height, filter);
    float* values = y.data<float>();
    for (size_t i = 0; i < resized.rgb.size(); ++i)  // rescaled in f64 and rounded, then in f32, as the reference does
      values[i] = (float(double(resized.rgb[i]) * factor) - mean[i % 3]) / deviation[i % 3];
  });
}

}  // namespace hearth::models::image_prompt
