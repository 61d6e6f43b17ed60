#include "models/stable_cascade/unet.h"

#include <set>

#include "models/stable_cascade/resize.h"
#include "parts/golden_case_test.h"

namespace hearth::models::stable_cascade {
namespace {

using parts::expect_error;

struct CascadeCase : parts::GoldenCase {
  CascadeCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor run(const Config& json) const {
    const UnetConfig c = UnetConfig::from(json);
    Weights w = weights();
    const Unet net(Scope(w), c);
    w.finish();
    const int64_t B = fact("batch"), H = fact("height"), W = fact("width");
    UnetInputs in{.ratio = fact("ratio").get<float>(), .pooled = input("pooled", {B, c.pooled})};
    if (c.text) in.text = input("text", {B, fact("rows"), c.text}), in.image = input("image", {B, fact("images"), c.image});
    if (c.features) in.features = input("features", {B, fact("features")[0], fact("features")[1], c.features});
    return net(input("x", {B, H, W, c.in_channels}), in);
  }
};

void check_unet(Backend& device, const char* name, double limit) {
  const CascadeCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("y"), limit);
  c.expect_taps(recorder, limit);
}

// Observed: worst of the output and all taps. Those of large ratios are the rounding of the sinusoid's angles in f32.
BACKEND_TEST(CascadeUnet, matches_reference_as_stage_c) { check_unet(device, "prior", 3e-6); }                            // observed 3.6e-7
BACKEND_TEST(CascadeUnet, matches_reference_as_stage_b_on_odd_sizes) { check_unet(device, "decoder", 5e-6); }             // observed 5.1e-7
BACKEND_TEST(CascadeUnet, matches_reference_with_levels_that_are_interpolated) { check_unet(device, "switched", 2e-6); }  // observed 2.7e-7
BACKEND_TEST(CascadeUnet, eps_of_each_norm) { check_unet(device, "faint", 3e-5); }                                        // observed 3.4e-6

// Changing each key alone gives the result of the reference.
BACKEND_TEST(CascadeUnet, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 3e-6;
  const CascadeCase c("perturbed", device);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])), c.golden.values(fmt::format("y.{}", i++)), limit);
  }
}

BACKEND_TEST(CascadeResize, is_the_reference_s_interpolation) {
  const CascadeCase c("resizes", device);
  int i = 0;
  for (const auto& size : c.fact("sizes")) {
    SCOPED_TRACE(size.dump());
    const Tensor x = c.input("x", {2, size[0], size[1], 3});
    EXPECT_CLOSE(resize_bilinear(x, size[2], size[3]), c.golden.values(std::to_string(i++)), 1e-6);
  }
}

// Rows do not affect each other.
BACKEND_TEST(CascadeUnet, an_image_alone_has_the_bits_of_a_batch) {
  const CascadeCase c("decoder", device);
  Weights w = c.weights();
  const Unet net(Scope(w), UnetConfig::from(c.config()));
  const Tensor x = c.input("x", {3, 18, 22, 4}), pooled = c.input("pooled", {3, 9}), features = c.input("features", {3, 2, 3, 5});
  const Tensor all = net(x, {.ratio = 0.25f, .pooled = pooled, .features = features});
  for (int64_t b = 0; b < 3; ++b) {
    const Tensor one =
        net(x.slice(0, b, b + 1), {.ratio = 0.25f, .pooled = pooled.slice(0, b, b + 1), .features = features.slice(0, b, b + 1)});
    EXPECT_EQ(one.to_vector(), all.slice(0, b, b + 1).to_vector()) << b;
  }
}

TEST(CascadeUnetShapes, shapes_that_do_not_match_are_named) {
  const auto device = test::make_test_backend("reference");
  const auto refused = [&](const char* name, const Shape& x, const Shape& pooled, const Shape& text, const Shape& image,
                           const Shape& features, const std::string& words) {
    const CascadeCase c(name, *device);
    Weights w = c.weights();
    const Unet net(Scope(w), UnetConfig::from(c.config()));
    const auto zeros = [&](const Shape& shape) { return Tensor::zeros(*device, shape); };
    expect_error<ShapeError>(
        [&] { net(zeros(x), {.pooled = zeros(pooled), .text = zeros(text), .image = zeros(image), .features = zeros(features)}); },
        {words});
  };
  const Shape one{1, 1, 1, 1};
  refused("prior", {1, 4, 4, 3}, {1, 10}, {1, 2, 6}, {1, 1, 7}, one, "expected 5 channels");
  refused("prior", {1, 4, 4, 5}, {1, 9}, {1, 2, 6}, {1, 1, 7}, one, "the pooled text is [1, 9], expected [1, 10]");
  refused("prior", {1, 4, 4, 5}, {1, 10}, {1, 2, 5}, {1, 1, 7}, one, "the text is [1, 2, 5], expected [1, rows, 6]");
  refused("prior", {1, 4, 4, 5}, {1, 10}, {1, 2, 6}, {2, 1, 7}, one, "the image prompt is [2, 1, 7], expected [1, rows, 7]");
  refused("decoder", {1, 4, 5, 4}, {1, 9}, one, one, {1, 2, 2, 5}, "multiples of 2");
  refused("decoder", {1, 4, 4, 4}, {1, 9}, one, one, {1, 2, 2, 4}, "the features are [1, 2, 2, 4], expected [1, height, width, 5]");
}

TEST(CascadeUnetConfig, published_configs_ask_for_exactly_the_published_tensors) {
  for (const char* name : {"c", "c_lite", "b", "b_lite"}) {
    SCOPED_TRACE(name);
    const parts::Structure s(__FILE__, name);
    const UnetConfig c = UnetConfig::from(s.config());
    EXPECT_EQ(c.features, name[0] == 'b' ? 16 : 0);
    s.expect_same([&](const Scope& w) { return Unet(w, c); },
                  [&](const Unet& net, Backend& plan) {
                    const int64_t side = c.features ? 64 : 24;
                    const Tensor y =
                        net(Tensor::empty(plan, {1, side, side, c.in_channels}), {.pooled = Tensor::empty(plan, {1, 1280}),
                                                                                  .text = Tensor::empty(plan, {1, 77, 1280}),
                                                                                  .image = Tensor::empty(plan, {1, 1, 768}),
                                                                                  .features = Tensor::empty(plan, {1, 6, 6, 16})});
                    EXPECT_EQ(y.shape(), (Shape{1, side, side, c.out_channels}));
                  });
  }
}

// For every key of the reference's config, its effect is proven above, or it is rejected here by name.
TEST(CascadeUnetConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const CascadeCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{{"_class_name", "UNet2DConditionModel"},
                                                                    {"clip_image_in_channels", nullptr},
                                                                    {"up_blocks_repeat_mappers", nullptr},
                                                                    {"kernel_size", 2},
                                                                    {"timestep_conditioning_type", {"sca", "other"}},
                                                                    {"block_types_per_layer", {{"SDCascadeResBlock"}, {"Other"}}},
                                                                    {"a_key_of_next_year", 1}};
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { UnetConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first, "config.json"});
  }
  std::set<std::string> looked_at{"_diffusers_version"};
  for (const auto& [key, value] : refused) looked_at.insert(key);
  for (const auto& change : c.fact("changes")) looked_at.insert(change["key"].get<std::string>());
  for (const auto& [key, value] : c.config_json.items()) EXPECT_TRUE(looked_at.contains(key)) << key << " is neither proven nor refused";
}

TEST(CascadeUnetConfig, contradictions_are_named) {
  const auto device = test::make_test_backend("reference");
  const CascadeCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> wrong{{"num_attention_heads", {3, 2}},
                                                                  {"down_num_layers_per_block", {1}},
                                                                  {"up_num_layers_per_block", {0, 1}},
                                                                  {"block_types_per_layer", {{"SDCascadeResBlock"}}},
                                                                  {"timestep_ratio_embedding_dim", 2},
                                                                  {"switch_level", {true, true}},
                                                                  {"patch_size", "two"},
                                                                  {"block_out_channels", nlohmann::json::array()}};
  for (const auto& entry : wrong) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<WeightError>([&] { UnetConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first});
  }
}

}  // namespace
}  // namespace hearth::models::stable_cascade
