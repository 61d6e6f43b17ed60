#include "models/hunyuan_dit/controlnet.h"

#include <map>

#include "parts/golden_case_test.h"

namespace hearth::models::hunyuan_dit {
namespace {

using parts::expect_error;

// A golden of golden/make_controlnet.py, run with its own config or with a changed one.
struct ControlCase : parts::GoldenCase {
  ControlCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  // f(x, inputs) with the golden's inputs for a network of these sizes
  template <class F> auto with_inputs(const TransformerConfig& c, F f) const {
    const int64_t B = fact("batch");
    const auto timesteps = fact("timesteps").get<std::vector<float>>(), sizes = fact("sizes").get<std::vector<float>>();
    Inputs in{.text = input("text", {B, c.text_rows, c.text}),
              .t5 = input("t5", {B, c.t5_rows, c.t5}),
              .text_lengths = fact("lengths").get<std::vector<int64_t>>(),
              .t5_lengths = fact("lengths_t5").get<std::vector<int64_t>>(),
              .timesteps = timesteps};
    if (c.conditions) in.sizes = ops::repeat_batch(embed_sizes(*device, {sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]}), B);
    return f(latents("x", c), in);
  }
  Tensor latents(const std::string& name, const TransformerConfig& c) const {
    return input(name, {fact("batch"), fact("height"), fact("width"), c.in_channels});
  }
  std::vector<Tensor> run(const Config& json) const {
    const TransformerConfig c = TransformerConfig::of_control(json);
    Weights w = weights();
    const ControlNet net(Scope(w), c);
    w.finish();
    return with_inputs(c, [&](const Tensor& x, const Inputs& in) { return net(x, in, net.hint(latents("control", c))); });
  }
};

BACKEND_TEST(HunyuanControlNet, matches_reference) {
  constexpr double limit = 3e-5;  // observed 4.2e-6
  for (const char* name : {"controlnet_v11", "controlnet_v12", "controlnet_faint"}) {
    SCOPED_TRACE(name);
    const ControlCase c(name, device);
    test::TapRecorder recorder;
    const ObserverScope scope(recorder);
    const std::vector<Tensor> made = c.run(c.config());
    ASSERT_EQ(int64_t(made.size()), TransformerConfig::of_control(c.config()).skips());
    c.expect_outputs(made, limit);
    c.expect_taps(recorder, limit);
  }
}

BACKEND_TEST(HunyuanControlNet, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 1e-5;  // observed 1.4e-6
  const ControlCase c("controlnet_perturbed", device);
  EXPECT_CLOSE(c.run(c.config())[0], c.golden.values("base"), limit);
  c.expect_effects_of_keys([&](const Config& json) { return c.run(json).back(); }, limit);
}

BACKEND_TEST(HunyuanControlNet, the_transformer_adds_it_to_its_skips) {
  const ControlCase c("controlnet_added", device);
  const TransformerConfig config = TransformerConfig::from(c.config());
  Weights w = c.weights();
  const Transformer net(Scope(w), config);
  const int64_t B = c.fact("batch"), tokens = c.fact("height").get<int64_t>() * c.fact("width").get<int64_t>() / 4;
  std::vector<Tensor> added;
  for (int64_t i = 0; i < config.skips(); ++i) added.push_back(c.input(fmt::format("added.{}", i), {B, tokens, config.width()}));
  c.with_inputs(config, [&](const Tensor& x, const Inputs& in) {
    EXPECT_CLOSE(net(x, in, added), c.golden.values("y"), 1.5e-5);  // observed 1.9e-6
    added.pop_back();
    expect_error<ShapeError>([&] { net(x, in, added); }, {"1 tensors are added to the skips, expected 2"});
  });
}

BACKEND_TEST(HunyuanControlNet, a_hint_is_repeated_for_the_batch) {
  const ControlCase c("controlnet_v11", device);
  const TransformerConfig config = TransformerConfig::of_control(c.config());
  Weights w = c.weights();
  const ControlNet net(Scope(w), config);
  const Tensor hint = net.hint(c.latents("control", config).slice(0, 0, 1));
  c.with_inputs(config, [&](const Tensor& x, const Inputs& in) {
    const std::vector<Tensor> one = net(x, in, hint), two = net(x, in, ops::repeat_batch(hint, 2));
    for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].to_vector(), two[i].to_vector());
    expect_error<ShapeError>([&] { net(x, in, ops::contiguous(hint.slice(1, 0, 3))); }, {"the hint is [1, 3, 16], expected [2, 15, 16]"});
  });
}

TEST(HunyuanControlNetConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const ControlCase c("controlnet_perturbed", *device);
  const std::map<std::string, nlohmann::json> refused{
      {"_class_name", "HunyuanDiT2DModel"}, {"activation_fn", "geglu"}, {"patch_size", nullptr},
      {"transformer_num_layers", nullptr},  {"learn_sigma", false},     {"a_key_of_next_year", 1}};
  c.expect_refused<UnsupportedError>(refused, "config.json", TransformerConfig::of_control);
  c.expect_no_other_key({"_diffusers_version", "attention_head_dim", "num_attention_heads", "hidden_size"}, refused);
  c.expect_refused<WeightError>({{"hidden_size", 12}, {"transformer_num_layers", 5}, {"patch_size", "two"}, {"mlp_ratio", 0.0}}, "",
                                TransformerConfig::of_control);
  expect_error<WeightError>([&] { TransformerConfig::of_control(c.config_with("transformer_num_layers", 2)); }, {"expected at least 4"});
}

TEST(HunyuanControlNetConfig, published_configs_ask_for_exactly_the_published_tensors) {
  for (const char* name : {"controlnet_v11_full", "controlnet_v12_full"}) {
    SCOPED_TRACE(name);
    const parts::Structure s(__FILE__, name);
    const TransformerConfig c = TransformerConfig::of_control(s.config());
    s.expect_same([&](const Scope& w) { return ControlNet(w, c); },
                  [&](const ControlNet& net, Backend& plan) {
                    const std::vector<float> timesteps{999};
                    const Tensor x = Tensor::empty(plan, {1, 32, 48, 4});
                    const std::vector<Tensor> made = net(x,
                                                         {.text = Tensor::empty(plan, {1, 77, 1024}),
                                                          .t5 = Tensor::empty(plan, {1, 256, 2048}),
                                                          .text_lengths = {77},
                                                          .t5_lengths = {256},
                                                          .timesteps = timesteps,
                                                          .sizes = Tensor::empty(plan, {1, 1536})},
                                                         net.hint(x));
                    EXPECT_EQ(made.size(), 19u);
                    EXPECT_EQ(made[0].shape(), (Shape{1, 384, 1408}));
                  });
    // Of a file without a config.json, for a model of other sizes.
    TransformerConfig read = control_of_tensors(s.tensors(), {});
    EXPECT_EQ(read.mlp_width(), 6144);
    read.sample_size = c.sample_size, read.mlp_ratio = c.mlp_ratio;
    EXPECT_TRUE(read == c);
  }
}

TEST(HunyuanControlNetConfig, networks_for_other_transformers_are_named) {
  const TransformerConfig model;
  const auto refused = [&](TransformerConfig control, const std::string& words) {
    expect_error<WeightError>([&] { require_same_sizes(control, model, "file"); }, {words});
  };
  require_same_sizes(model, model, "file");
  refused({.conditions = false},
          "file: is for a transformer with width 1408, 28 blocks, patches of 2, 4 latent channels, texts 1024 and 2048 of 77 "
          "and 256 rows, without sizes and style; the model's has width 1408, 28 blocks");
  refused({.layers = 40}, "with width 1408, 40 blocks");
  refused({.heads = 8}, "with width 704");
  refused({.text_rows = 78}, "of 78 and 256 rows");
}

}  // namespace
}  // namespace hearth::models::hunyuan_dit
