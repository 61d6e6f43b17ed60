#include "models/diffusion/preview.h"

#include <cmath>

#include "media/editing/resample.h"
#include "ops/pointwise.h"
#include "support/backend_test.h"
#include "support/golden.h"

namespace hearth::models::diffusion {
namespace {

// A codec of sixteen channels: latents are tanh(bend · v) / bend of linear functions v of the mean color of eight by eight pixels, shifted
// and scaled.
class ColorCodec final : public Codec {
 public:
  explicit ColorCodec(double bend) : Codec({.latent_channels = 16, .factor = 8}), bend_(bend) {}

  parts::Posterior encode(const Tensor& image) const override {
    const int64_t h = image.size(1) / 8, w = image.size(2) / 8;
    const std::vector<float> x = image.to_vector(), mix = test::test_values("mix", 16 * 4);
    std::vector<float> z(size_t(h * w * 16));
    for (int64_t i = 0; i < h * w; ++i) {
      double mean[3] = {0, 0, 0};
      for (int64_t p = 0; p < 64; ++p)
        for (int64_t c = 0; c < 3; ++c) mean[c] += double(x[size_t((((i / w) * 8 + p / 8) * 8 * w + (i % w) * 8 + p % 8) * 3 + c)]) / 64;
      for (int64_t k = 0; k < 16; ++k) {
        double v = double(mix[size_t(4 * k + 3)]);
        for (int64_t c = 0; c < 3; ++c) v += double(mix[size_t(4 * k + c)]) * mean[c];
        z[size_t(16 * i + k)] = float(bend_ > 0 ? std::tanh(bend_ * v) / bend_ : v);
      }
    }
    return {Tensor::from(image.backend(), {1, h, w, 16}, z), {}};
  }
  parts::Posterior encode_in_tiles(const Tensor& image, int64_t) const override { return encode(image); }
  Tensor to_model(const parts::RawLatents& raw) const override { return ops::scaled(raw.z, 0.3611f, -0.1159f * 0.3611f); }
  Tensor decode(const Tensor& latents) const override { return latents; }
  Tensor decode_in_tiles(const Tensor& latents, int64_t) const override { return latents; }

 private:
  double bend_;
};

Pixels random_pixels(int64_t side, const std::string& name) {
  Pixels image{.width = side, .height = side, .rgb = {}};
  for (const float v : test::test_values(name, side * side * 3)) image.rgb.push_back(uint8_t((v + 1) * 127.5f));
  return image;
}

Tensor tensor_of(const Pixels& image, Backend& backend) {
  return Tensor::from(backend, {1, image.height, image.width, 3}, to_floats(image, PixelRange::minus_one_to_one));
}

// Root of the mean square of the differences, in levels of 0 … 255.
double difference(const Pixels& a, const Pixels& b) {
  double sum = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i) sum += (double(a.rgb[i]) - b.rgb[i]) * (double(a.rgb[i]) - b.rgb[i]);
  return std::sqrt(sum / double(a.rgb.size()));
}

// The preview of an image's latents is the image with one color per latent pixel.
TEST(Preview, colors_of_sixteen_channels_are_those_of_the_pixels) {
  const auto device = test::make_test_backend("reference");
  const ColorCodec linear(0);
  const HostedCodec codec(linear, *device, *device);
  const LatentColors colors = fit_colors(codec, *device);
  ASSERT_EQ(colors.matrix.size(), 3u * 17u);
  const Pixels large = resize(random_pixels(6, "colors"), 48, 48, Filter::nearest);
  const Tensor latents = codec.to_model(codec.encode(tensor_of(large, *device)).mode());
  EXPECT_LE(difference(preview_of(latents, colors, 8), resize(resize(large, 6, 6, Filter::box), 48, 48, Filter::bilinear)), 1);
}

// Latents that are not linear in the colors: sixteen of them determine the colors nearly.
TEST(Preview, colors_of_sixteen_channels_are_fitted) {
  const auto device = test::make_test_backend("reference");
  const ColorCodec bent(2.0);
  const HostedCodec codec(bent, *device, *device);
  const LatentColors colors = fit_colors(codec, *device);
  const Pixels large = resize(random_pixels(6, "colors"), 48, 48, Filter::nearest);
  const Tensor latents = codec.to_model(codec.encode(tensor_of(large, *device)).mode());
  EXPECT_LE(difference(preview_of(latents, colors, 8), resize(resize(large, 6, 6, Filter::box), 48, 48, Filter::bilinear)),
            10);  // observed 5.4
}

}  // namespace
}  // namespace hearth::models::diffusion
