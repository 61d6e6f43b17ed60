#include "models/sana/controlnet.h"

#include <map>

#include "parts/golden_case_test.h"

namespace hearth::models::sana {
namespace {

using parts::expect_error;

// A golden of golden/make_controlnet.py, run with its own config or with a changed one.
struct ControlCase : parts::GoldenCase {
  ControlCase(const std::string& name, Backend& backend)
      : GoldenCase(__FILE__, name, backend),
        timesteps(fact("timesteps").get<std::vector<float>>()),
        rows(fact("rows").get<std::vector<int64_t>>()) {}

  Tensor latents(const std::string& name, const TransformerConfig& c) const {
    return input(name, {fact("batch"), fact("height"), fact("width"), c.in_channels});
  }
  Tensor text(const TransformerConfig& c) const { return input("text", {fact("batch"), fact("length"), c.text_width}); }
  std::vector<Tensor> run(const Config& json) const {
    const TransformerConfig c = control_config(json);
    Weights w = weights();
    const ControlNet net(Scope(w), c);
    w.finish();
    return net(latents("x", c), timesteps, text(c), rows, net.hint(latents("control", c)));
  }

  std::vector<float> timesteps;
  std::vector<int64_t> rows;
};

BACKEND_TEST(SanaControlNet, matches_reference) {
  constexpr double limit = 1e-5;  // observed 1.8e-6
  for (const char* name : {"controlnet_plain", "controlnet_positions", "controlnet_unusual", "controlnet_faint"}) {
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

BACKEND_TEST(SanaControlNet, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 1.5e-6;  // observed 1.7e-7
  const ControlCase c("controlnet_perturbed", device);
  EXPECT_CLOSE(c.run(c.config())[0], c.golden.values("base"), limit);
  c.expect_effects_of_keys([&](const Config& json) { return c.run(json)[0]; }, limit);
}

BACKEND_TEST(SanaControlNet, the_transformer_adds_it_from_its_second_block_on) {
  const ControlCase c("controlnet_added", device);
  const TransformerConfig config = TransformerConfig::from(c.config());
  Weights w = c.weights();
  const Transformer net(Scope(w), config);
  std::vector<std::vector<Tensor>> added(1);
  for (int i = 0; i < 3; ++i) added[0].push_back(c.input(fmt::format("added.{}", i), {2, 35, config.width()}));
  EXPECT_CLOSE(net(c.latents("x", config), c.timesteps, std::nullopt, c.text(config), c.rows, false, added), c.golden.values("y"),
               5e-6);  // observed 6.0e-7
}

BACKEND_TEST(SanaControlNet, a_hint_is_repeated_for_the_batch) {
  const ControlCase c("controlnet_plain", device);
  const TransformerConfig config = control_config(c.config());
  Weights w = c.weights();
  const ControlNet net(Scope(w), config);
  const Tensor hint = net.hint(c.latents("control", config).slice(0, 0, 1)), x = c.latents("x", config), text = c.text(config);
  const std::vector<Tensor> one = net(x, c.timesteps, text, c.rows, hint),
                            two = net(x, c.timesteps, text, c.rows, ops::repeat_batch(hint, 2));
  for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].to_vector(), two[i].to_vector());
  expect_error<ShapeError>([&] { net(x, c.timesteps, text, c.rows, ops::contiguous(hint.slice(1, 0, 3))); },
                           {"the hint is [1, 3, 24], expected [2, 35, 24]"});
}

TEST(SanaControlNetConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const ControlCase c("controlnet_perturbed", *device);
  const std::map<std::string, nlohmann::json> refused{
      {"_class_name", "SanaTransformer2DModel"}, {"qk_norm", "rms_norm_across_heads"}, {"num_layers", nullptr}, {"a_key_of_next_year", 1}};
  c.expect_refused<UnsupportedError>(refused, "config.json", control_config);
  c.expect_no_other_key({"_diffusers_version", "attention_head_dim", "num_attention_heads", "cross_attention_dim", "dropout"}, refused);
  expect_error<WeightError>([&] { control_config(c.config_with("cross_attention_dim", 12)); }, {"cross_attention_dim"});
  const std::string defaults = parts::Structure::read(test::folder_of(__FILE__) / "golden/controlnet_defaults.json");
  EXPECT_TRUE(control_config(Config::parse("{}", "empty")) == control_config(Config::parse(defaults, "defaults.json")));
}

TEST(SanaControlNetConfig, a_full_size_network_asks_for_exactly_the_tensors_of_the_reference) {
  const parts::Structure s(__FILE__, "controlnet_600m");
  const TransformerConfig c = control_config(s.config());
  s.expect_same([&](const Scope& w) { return ControlNet(w, c); },
                [&](const ControlNet& net, Backend& plan) {
                  const std::vector<float> timesteps{999};
                  const std::vector<int64_t> rows{10};
                  const Tensor x = Tensor::empty(plan, {1, 4, 6, 32});
                  const auto made = net(x, timesteps, Tensor::empty(plan, {1, 10, 2304}), rows, net.hint(x));
                  EXPECT_EQ(made.size(), 7u);
                  EXPECT_EQ(made[0].shape(), (Shape{1, 24, 1152}));
                });
  // Of a file without a config.json, for a model of the same heads.
  const TransformerConfig model{.heads = 70, .cross_head_size = 72, .mlp_ratio = 2, .qk_norm = true};
  TransformerConfig read = control_of_tensors(s.tensors(), model);
  EXPECT_EQ(read.hidden(), c.hidden());
  read.mlp_ratio = c.mlp_ratio;
  EXPECT_TRUE(read == c);
}

TEST(SanaControlNetConfig, networks_for_other_transformers_are_named) {
  const TransformerConfig model;
  require_same_sizes({.layers = 7}, model, "file");
  for (const auto& [control, words] :
       std::vector<std::pair<TransformerConfig, std::string>>{{{.heads = 36},
                                                               "file: is for a transformer with width 1152, patches of 1, 32 latent "
                                                               "channels, text states of width 2304; the model's has width "
                                                               "2240"},
                                                              {{.in_channels = 16}, "16 latent channels"},
                                                              {{.patch = 2}, "patches of 2"},
                                                              {{.text_width = 9}, "text states of width 9;"}})
    expect_error<WeightError>([&, &control = control] { require_same_sizes(control, model, "file"); }, {words});
}

}  // namespace
}  // namespace hearth::models::sana
