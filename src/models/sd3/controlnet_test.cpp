#include "models/sd3/controlnet.h"

#include <cmath>

#include "parts/golden_case_test.h"

namespace hearth::models::sd3 {
namespace {

using parts::expect_error, parts::GoldenCase, parts::ScaledSource;

// As the recipe multiplies the position table.
class Positioned : public ScaledSource {
 public:
  Positioned(float factor, float positions) : ScaledSource(factor), positions_(positions) {}
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const Tensor x = ScaledSource::read(name, wanted, backend);
    if (name != "pos_embed.pos_embed") return x;
    std::vector<float> values = x.to_vector();
    for (float& v : values) v *= positions_;
    return Tensor::from(backend, wanted, values);
  }

 private:
  float positions_;
};

// A golden of golden/make_controlnet.py, run with its own config or with a changed one.
struct ControlCase : GoldenCase {
  ControlCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  ControlNetConfig read(const Config& json) const {
    ControlNetConfig c = ControlNetConfig::from(json);
    if (c.of_transformer) c.blocks.position_side = fact("shared_side");
    return c;
  }
  std::vector<Tensor> run(const Config& json) const {
    const ControlNetConfig c = read(json);
    Weights w(std::make_shared<Positioned>(fact("factor").get<float>(), fact("positions").get<float>()), *device, {});
    const ControlNet net(Scope(w), c);
    w.finish();
    const int64_t B = fact("batch"), h = fact("height"), width = fact("width");
    const auto timesteps = fact("timesteps").get<std::vector<float>>();
    return net(input("x", {B, h, width, c.blocks.in_channels}), timesteps,
               c.sees_text() ? input("context", {B, fact("rows"), c.blocks.text_width}) : Tensor(),
               input("pooled", {B, c.blocks.pooled_width}),
               net.hint(input("control", {B, h, width, c.blocks.in_channels + c.extra_channels})));
  }
};

BACKEND_TEST(Sd3ControlNet, matches_reference) {
  constexpr double limit = 1e-5;  // observed 1.7e-6 reference, 1.8e-6 cpu
  for (const char* name : {"controlnet_text", "controlnet_dual", "controlnet_alone", "controlnet_bare", "controlnet_faint"}) {
    SCOPED_TRACE(name);
    const ControlCase c(name, device);
    test::TapRecorder recorder;
    const ObserverScope scope(recorder);
    const std::vector<Tensor> made = c.run(c.config());
    ASSERT_EQ(int64_t(made.size()), c.config_json.at("num_layers").get<int64_t>());
    c.expect_outputs(made, limit);
    c.expect_taps(recorder, limit);
  }
}

BACKEND_TEST(Sd3ControlNet, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 1.5e-6;  // observed 1.5e-7 reference, 1.7e-7 cpu
  const ControlCase c("controlnet_perturbed", device);
  EXPECT_CLOSE(c.run(c.config())[0], c.golden.values("base"), limit);
  c.expect_effects_of_keys([&](const Config& json) { return c.run(json)[0]; }, limit);
}

TEST(Sd3ControlNetConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const ControlCase c("controlnet_perturbed", *device), alone("controlnet_alone", *device);
  c.expect_refused<UnsupportedError>({{"_class_name", "SD3Transformer2DModel"},
                                      {"qk_norm", "layer_norm"},
                                      {"pos_embed_type", "learned"},
                                      {"use_pos_embed", nullptr},
                                      {"extra_conditioning_channels", 4},
                                      {"num_layers", nullptr},
                                      {"unheard_of", 1}},
                                     "config.json", ControlNetConfig::from);
  c.expect_refused<WeightError>(
      {{"caption_projection_dim", 12}, {"num_layers", 0}, {"dual_attention_layers", {0, 2}}, {"pos_embed_max_size", 0}}, "",
      ControlNetConfig::from);
  expect_error<UnsupportedError>([&] { ControlNetConfig::from(alone.config_with("qk_norm", "rms_norm")); }, {"joint_attention_dim"});
  parts::expect_reference_defaults_of<ControlNetConfig>(__FILE__, "controlnet_defaults.json");
}

// Stability's networks for 3.5 large, with the transformer's patches and positions.
TEST(Sd3ControlNetConfig, published_config_asks_for_exactly_the_published_tensors) {
  const parts::Structure s(__FILE__, "sd35_controlnet");
  ControlNetConfig c = ControlNetConfig::from(s.config());
  c.blocks.position_side = 192;
  EXPECT_FALSE(c.sees_text());
  EXPECT_TRUE(c.sees_pooled_text);
  s.expect_same([&](const Scope& w) { return ControlNet(w, c); },
                [&](const ControlNet& net, Backend& plan) {
                  const std::vector<float> timesteps{999};
                  const Tensor x = Tensor::empty(plan, {1, 8, 8, 16});
                  const auto made = net(x, timesteps, {}, Tensor::empty(plan, {1, 2048}), net.hint(x));
                  EXPECT_EQ(made.size(), 19u);
                  EXPECT_EQ(made[0].shape(), (Shape{1, 16, 2432}));
                });
}

}  // namespace
}  // namespace hearth::models::sd3
