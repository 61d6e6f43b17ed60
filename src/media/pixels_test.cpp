#include "media/pixels.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/backend_test.h"
#include "support/golden.h"

namespace hearth {
namespace {

std::unique_ptr<Backend> device() { return test::make_test_backend("reference", 1); }

nlohmann::json golden() { return nlohmann::json::parse(std::ifstream(test::folder_of(__FILE__) / "golden/pixels.json")); }

TEST(Pixels, of_the_autoencoder_are_those_of_diffusers) {
  const auto backend = device();
  const auto g = golden();
  const Pixels p = to_pixels(Tensor::from(*backend, {16, 16, 3}, g["x"].get<std::vector<float>>()), PixelRange::minus_one_to_one);
  EXPECT_EQ(p.rgb, g["rgb"].get<std::vector<uint8_t>>());  // observed: no difference
}

TEST(Pixels, halves_go_to_the_even_level_as_in_numpy) {
  const auto backend = device();
  const auto g = golden();
  const auto ties = g["ties"].get<std::vector<float>>();
  std::vector<float> x;
  for (const float v : ties) x.insert(x.end(), {v, v, v});
  const Pixels p = to_pixels(Tensor::from(*backend, {16, 16, 3}, x), PixelRange::zero_to_one);
  for (size_t i = 0; i < ties.size(); ++i) EXPECT_EQ(p.rgb[i * 3], g["ties_rgb"][i]) << ties[i];
}

TEST(Pixels, rounded_not_truncated) {  // truncation would make a ramp darker by half a value
  const auto backend = device();
  constexpr int n = 10'000;
  std::vector<float> ramp;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    const float v = float(i) / (n - 1);
    ramp.insert(ramp.end(), {v, v, v});
    sum += v * 255.0;
  }
  double written = 0;
  for (const uint8_t v : to_pixels(Tensor::from(*backend, {1, n, 3}, ramp), PixelRange::zero_to_one).rgb) written += v / 3.0;
  EXPECT_NEAR(written / n, sum / n, 0.01);
}

TEST(Pixels, rows_columns_and_channels_keep_their_places_in_views_and_16_bits) {
  const auto backend = device();
  std::vector<float> x(2 * 3 * 4);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i) / 255;
  const Tensor chw = Tensor::from(*backend, {3, 2, 4}, x);  // the layout of other programs
  const Pixels p = to_pixels(chw.permute({1, 2, 0}), PixelRange::zero_to_one);
  EXPECT_EQ(p.width, 4);
  EXPECT_EQ(p.height, 2);
  EXPECT_EQ(p.rgb[(1 * 4 + 2) * 3 + 1], 8 + 4 + 2);
  EXPECT_EQ(to_pixels(Tensor::from(*backend, {1, 1, 3}, std::vector<float>{0, 1, 0.5f}, DType::bf16), PixelRange::zero_to_one).rgb,
            (std::vector<uint8_t>{0, 255, 128}));
}

TEST(Pixels, of_sixteen_bits_are_rounded_in_the_same_way) {
  const auto backend = device();
  const Tensor x = Tensor::from(*backend, {1, 2, 3}, std::vector<float>{-2, 0, 0.5f, 1, 2, 1.0f / 65535});
  EXPECT_EQ(to_deep_pixels(x, PixelRange::zero_to_one).rgb, (std::vector<uint16_t>{0, 0, 32768, 65535, 65535, 1}));
  EXPECT_EQ(to_deep_pixels(x, PixelRange::minus_one_to_one).rgb, (std::vector<uint16_t>{0, 32768, 49151, 65535, 65535, 32768}));
}

TEST(Pixels, one_bad_value_anywhere_refuses_the_image) {
  const auto backend = device();
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> x(4 * 5 * 3, 0.5f);
    x.back() = bad;
    const auto says = [&] {
      try {
        to_pixels(Tensor::from(*backend, {4, 5, 3}, x), PixelRange::minus_one_to_one);
      } catch (const NonFiniteError& e) { return std::string(e.what()); }
      return std::string("nothing");
    };
    EXPECT_EQ(says(), "to_pixels: 1 of 60 values are not finite, the first at row 3, column 4, channel 2");
    x[3] = bad;
    EXPECT_EQ(says(), "to_pixels: 2 of 60 values are not finite, the first at row 0, column 1, channel 0");
  }
}

TEST(Pixels, other_shapes_are_refused) {
  const auto backend = device();
  for (const Shape& shape : {Shape{2, 2, 4}, Shape{2, 2, 1}, Shape{0, 2, 3}, Shape{2, 0, 3}, Shape{2, 2}, Shape{1, 2, 2, 3}})
    EXPECT_THROW(to_pixels(Tensor::zeros(*backend, shape), PixelRange::zero_to_one), ShapeError) << to_string(shape);
}

}  // namespace
}  // namespace hearth
