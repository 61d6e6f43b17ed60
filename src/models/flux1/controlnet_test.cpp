#include "models/flux1/controlnet.h"

#include "parts/golden_case_test.h"

namespace hearth::models::flux1 {
namespace {

using parts::expect_error;

// A golden of golden/make_controlnet.py, run with its own config or with a changed one.
struct ControlCase : parts::GoldenCase {
  ControlCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  ControlNet::Outputs run(const Config& json) const {
    const ControlNetConfig c = ControlNetConfig::from(json);
    Weights w = weights();
    const ControlNet net(Scope(w), c);
    w.finish();
    const int64_t n = fact("batch"), h = fact("height"), width = fact("width");
    std::vector<Position> positions;
    append_positions(positions, 0, h, width);
    const auto timesteps = fact("timesteps").get<std::vector<float>>(), guidance = fact("guidance").get<std::vector<float>>();
    const Tensor image =
        c.hint_channels > 0 ? input("control", {1, 8 * h, 8 * width, 3}) : input("control", {n, h, width, c.blocks.in_channels / 4});
    return net(input("x", {n, int64_t(positions.size()), c.blocks.in_channels}), positions,
               {.text = input("text", {n, fact("tokens"), c.blocks.text}),
                .pooled = input("pooled", {n, c.blocks.pooled}),
                .timesteps = timesteps,
                .guidance = c.blocks.guidance ? guidance : std::span<const float>()},
               net.hint(image), net.mode(fact("mode")));
  }
};

BACKEND_TEST(FluxControlNet, matches_reference) {
  constexpr double limit = 5e-5;  // observed 8.7e-6 reference, 8.8e-6 cpu; as for the transformer, most of it is torch's exp
  for (const char* name : {"controlnet_latents", "controlnet_union", "controlnet_single", "controlnet_pixels"}) {
    SCOPED_TRACE(name);
    const ControlCase c(name, device);
    test::TapRecorder recorder;
    const ObserverScope scope(recorder);
    const ControlNet::Outputs made = c.run(c.config());
    EXPECT_EQ(int64_t(made.double_blocks.size()), c.config_json.at("num_layers").get<int64_t>());
    EXPECT_EQ(int64_t(made.single_blocks.size()), c.config_json.at("num_single_layers").get<int64_t>());
    c.expect_outputs(made.double_blocks, limit, "double");
    c.expect_outputs(made.single_blocks, limit, "single");
    c.expect_taps(recorder, limit);
  }
}

BACKEND_TEST(FluxControlNet, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 5e-5;  // observed 1.1e-5, with guidance
  const ControlCase c("controlnet_perturbed", device);
  EXPECT_CLOSE(c.run(c.config()).single_blocks[0], c.golden.values("base"), limit);
  c.expect_effects_of_keys([&](const Config& json) { return c.run(json).single_blocks[0]; }, limit);
}

// The reference: block i gets tensor ⌊i / ⌈n / k⌉⌋ of k, or tensor i mod k.
TEST(FluxControlNetOutputs, are_spread_over_the_blocks_as_in_the_reference) {
  const auto device = test::make_test_backend("reference");
  AddedAfterBlocks::List five, two;
  for (float v = 0; v < 5; ++v) five.tensors.push_back(Tensor::from(*device, {1}, std::vector<float>{v}));
  two = {.tensors = {five.tensors[0], five.tensors[1]}, .cycles = true};
  std::vector<float> spread, repeated;
  for (int64_t i = 0; i < 19; ++i) spread.push_back(five.after(i, 19).to_vector()[0]), repeated.push_back(two.after(i, 19).to_vector()[0]);
  EXPECT_EQ(spread, (std::vector<float>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4}));
  EXPECT_EQ(repeated, (std::vector<float>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}));
}

TEST(FluxControlNetConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const ControlCase c("controlnet_perturbed", *device), pixels("controlnet_pixels", *device);
  c.expect_refused<UnsupportedError>(
      {{"_class_name", "FluxTransformer2DModel"}, {"guidance_embeds", nullptr}, {"num_layers", nullptr}, {"unheard_of", 1}}, "config.json",
      ControlNetConfig::from);
  c.expect_refused<WeightError>(
      {{"axes_dims_rope", {4, 12}}, {"num_layers", -1}, {"num_mode", 0}, {"conditioning_embedding_channels", 0}, {"in_channels", 0}}, "",
      ControlNetConfig::from);
  expect_error<UnsupportedError>([&] { ControlNetConfig::from(pixels.config_with("patch_size", 1)); }, {"patch_size"});
  expect_error<WeightError>([&] { ControlNetConfig::from(pixels.config_with("conditioning_embedding_channels", 3)); },
                            {"conditioning_embedding_channels"});
  parts::expect_reference_defaults_of<ControlNetConfig>(__FILE__, "controlnet_defaults.json");
}

}  // namespace
}  // namespace hearth::models::flux1
