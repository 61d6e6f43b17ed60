#include "parts/t2i_adapter/adapter.h"

#include <cmath>

#include "core/on_host.h"
#include "parts/golden_case_test.h"
#include "parts/t2i_adapter/files.h"
#include "parts/unet/unet.h"
#include "support/complaint.h"

namespace hearth::parts {
namespace {

struct AdapterCase : GoldenCase {
  AdapterCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor image(int64_t channels) const {
    const Shape shape{1, fact("height"), fact("width"), channels};
    std::vector<float> values = test::test_values("input.image", shape.numel());
    for (float& v : values) v = std::abs(v);
    return Tensor::from(*device, shape, values);
  }
};

constexpr double adapter_limit = 5e-6;  // observed 1.4e-7 reference, 1e-6 cpu

BACKEND_TEST(T2iAdapter, matches_reference) {
  for (const char* name : {"full", "xl", "light"}) {
    SCOPED_TRACE(name);
    const AdapterCase c(name, device);
    const T2iAdapterConfig config = T2iAdapterConfig::from(c.config());
    Weights w = c.weights();
    const T2iAdapter net(Scope(w), config);
    w.finish();
    const std::vector<Tensor> features = net(c.image(3));
    ASSERT_EQ(features.size(), 4u);
    for (size_t i = 0; i < features.size(); ++i) EXPECT_CLOSE(features[i], c.golden.values(fmt::format("feature.{}", i)), adapter_limit);

    const UnetConfig unet_config = UnetConfig::from(Config::parse(c.fact("unet").dump(), "unet"));
    require_features_fit(config, unet_config, 8, name);
    const Unet unet(Scope(w), unet_config);
    UnetResiduals residuals;
    for (const Tensor& f : features) residuals.features.push_back(ops::repeat_batch(f, 2));
    const float t = 321;
    const Tensor x = c.input("x", {2, c.fact("height").get<int64_t>() / 8, c.fact("width").get<int64_t>() / 8, 4});
    EXPECT_CLOSE(unet(x, {&t, 1}, {.context = c.input("context", {2, 5, 12})}, {}, residuals), c.golden.values("y"), adapter_limit);
  }
}

// Gray values are those of 8-bit pixels, as Pillow makes them.
BACKEND_TEST(T2iAdapter, reads_gray_images) {
  const AdapterCase c("gray", device);
  const T2iAdapterConfig config = T2iAdapterConfig::from(c.config());
  Weights w = c.weights();
  const T2iAdapter net(Scope(w), config);
  const Tensor gray = c.image(1);
  Tensor rounded = on_host(
      gray.shape(),
      [&](float* y, const float* x) {
        for (int64_t i = 0; i < gray.numel(); ++i) y[i] = std::round(x[i] * 255) / 255;
      },
      gray);
  const std::vector<Tensor> features = net(ops::concat({rounded, rounded, rounded}, 3));
  for (size_t i = 0; i < features.size(); ++i)
    EXPECT_CLOSE(features[i], c.golden.values(fmt::format("feature.{}", i)),
                 5e-3);  // observed 1e-3: the golden's image has more than 8 bits
}

TEST(T2iAdapterConfig, tensors_give_the_stated_configuration_in_every_layout) {
  const auto device = test::make_test_backend("reference");
  const auto json = nlohmann::json::parse(Structure::read(test::folder_of(__FILE__) / "golden/names.json"));
  for (const char* name : {"full", "xl", "light", "gray"}) {
    SCOPED_TRACE(name);
    const AdapterCase c(name, *device);
    TensorList stored, official;
    for (const auto& [from, to] : json.at(name).at("names").items()) {
      const Shape shape(json.at(name).at("shapes").at(to.get<std::string>()).get<std::vector<int64_t>>());
      stored[from] = official[to.get<std::string>()] = {.dtype = DType::f32, .shape = shape};
    }
    EXPECT_TRUE(T2iAdapterConfig::of_tensors(official, "file") == T2iAdapterConfig::from(c.config()));
    const Spelling& spelling = t2i_adapter_files.spellings[name == std::string_view("light") ? 1 : 0];
    const NameMap map = spelling.reading(stored, {});
    for (const std::string_view mark : spelling.marks) EXPECT_TRUE(stored.contains(std::string(mark))) << mark;
    for (const auto& [from, to] : json.at(name).at("names").items()) {
      const auto renamed = to_official(from, map);
      ASSERT_EQ(renamed.size(), 1u) << from;
      EXPECT_EQ(renamed[0].name, to);
    }
  }
}

TEST(T2iAdapterConfig, an_adapter_for_another_unet_is_refused) {
  const auto device = test::make_test_backend("reference");
  const AdapterCase full("full", *device), xl("xl", *device);
  const auto unet = [](const AdapterCase& c) { return UnetConfig::from(Config::parse(c.fact("unet").dump(), "unet")); };
  const std::string message =
      test::complaint_of([&] { require_features_fit(T2iAdapterConfig::from(xl.config()), unet(full), 8, "a.safetensors"); });
  EXPECT_EQ(
      message,
      "WeightError: a.safetensors: makes features of 8 for 16×16 pixels, 16 for 16×16 pixels, 24 for 32×32 pixels, 24 for 32×32 pixels "
      "channels, the model's UNet needs 8 for 8×8 pixels, 16 for 16×16 pixels, 24 for 32×32 pixels, 24 for 64×64 pixels, 24 for 64×64 "
      "pixels");
  for (const auto& [key, value] : std::vector<std::pair<std::string, nlohmann::json>>{
           {"adapter_type", "other"}, {"in_channels", 2}, {"channels", nlohmann::json::array()}, {"num_res_blocks", 0}, {"unheard_of", 1}})
    EXPECT_NE(test::complaint_of([&, key = key, value = value] { T2iAdapterConfig::from(full.config_with(key, value)); }).find(key),
              std::string::npos)
        << key;
}

// G-46: the order of the channels.
BACKEND_TEST(T2iAdapter, pixel_unshuffle_orders_channels_as_torch_does) {
  std::vector<float> values;
  for (int i = 0; i < 4 * 2 * 2; ++i) values.push_back(float(i));  // [1, 4, 2, 2]: pixel (y, x) has 4y + 2x and 4y + 2x + 1
  const Tensor y = pixel_unshuffle(Tensor::from(device, {1, 4, 2, 2}, values), 2);
  EXPECT_EQ(y.shape(), (Shape{1, 2, 1, 8}));
  EXPECT_EQ(y.to_vector(), (std::vector<float>{0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15}));
  EXPECT_THROW(pixel_unshuffle(y, 2), ShapeError);
}

}  // namespace
}  // namespace hearth::parts
