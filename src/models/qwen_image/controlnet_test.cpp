#include "models/qwen_image/controlnet.h"

#include "parts/golden_case_test.h"

namespace hearth::models::qwen_image {
namespace {

using parts::expect_error;

// A golden of golden/make_controlnet.py, run with its own config or with a changed one.
struct QwenControlCase : parts::GoldenCase {
  QwenControlCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {
    if (facts.contains("size")) grid = {fact("size")[0], fact("size")[1]};
  }

  std::vector<Tensor> run(const Config& json, const LoadOptions& options = {}) const {
    const ControlNetConfig c = ControlNetConfig::from(json);
    Weights w = weights(options);
    const ControlNet net(Scope(w), c);
    w.finish();
    const int64_t n = fact("batch");
    const auto timesteps = fact("timesteps").get<std::vector<float>>();
    const Tensor latents = input("control", {fact("images"), 2 * grid.rows, 2 * grid.columns, c.hint_channels() / 4});
    return net(input("x", {n, grid.tokens(), c.blocks.in_channels}), grid,
               {.text = input("text", {n, fact("tokens"), c.blocks.text}), .timesteps = timesteps}, net.hint(latents));
  }

  Grid grid;
};

void check_control(Backend& device, const char* name, double limit) {
  const QwenControlCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  const std::vector<Tensor> made = c.run(c.config());
  ASSERT_EQ(int64_t(made.size()), c.config_json.at("num_layers").get<int64_t>());
  c.expect_outputs(made, limit);
  c.expect_taps(recorder, limit);
}

BACKEND_TEST(QwenImageControlNet, matches_reference) { check_control(device, "controlnet_union", 3e-5); }             // observed 3.7e-6
BACKEND_TEST(QwenImageControlNet, matches_reference_with_a_mask) { check_control(device, "controlnet_fill", 2e-5); }  // observed 2.4e-6
BACKEND_TEST(QwenImageControlNet, eps_of_each_norm) { check_control(device, "controlnet_faint", 3e-7); }              // observed 3.8e-8

BACKEND_TEST(QwenImageControlNet, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 6e-6;  // observed 8.1e-7
  const QwenControlCase c("controlnet_perturbed", device);
  EXPECT_CLOSE(c.run(c.config()).back(), c.golden.values("base"), limit);
  c.expect_effects_of_keys([&](const Config& json) { return c.run(json).back(); }, limit);
}

// As many tensors as blocks, fewer and more; two lists of them add up.
BACKEND_TEST(QwenImageControlNet, what_networks_output_is_added_after_the_blocks_as_in_the_reference) {
  constexpr double limit = 4e-6;  // observed 5.0e-7
  const QwenControlCase c("controlnet_added", device);
  Weights w = c.weights();
  const Transformer net(Scope(w), TransformerConfig::from(c.config()));
  const std::vector<float> timesteps{500, 20};
  const std::vector<Grid> images{{2, 3}};
  const auto run = [&](const AddedAfterBlocks& added) {
    return net(c.input("x", {2, 6, 8}), images, {.text = c.input("text", {2, 4, 10}), .timesteps = timesteps}, added);
  };
  std::vector<Tensor> tensors;
  for (const int64_t k : {1, 2, 3, 5, 7}) {
    SCOPED_TRACE(k);
    while (std::ssize(tensors) < k) tensors.push_back(c.input(fmt::format("added.{}", tensors.size()), {2, 6, 48}));
    EXPECT_CLOSE(run({tensors}), c.golden.values(fmt::format("y.{}", k)), limit);
  }
  std::vector<Tensor> halves;
  for (const Tensor& x : tensors) halves.push_back(ops::scaled(x, 0.5f, 0));
  EXPECT_CLOSE(run({halves, halves}), c.golden.values("y.7"), limit);
}

BACKEND_TEST(QwenImageControlNet, a_batch_is_its_images) {
  const QwenControlCase c("controlnet_union", device);
  Weights w = c.weights();
  const ControlNet net(Scope(w), ControlNetConfig::from(c.config()));
  const Tensor x = c.input("x", {2, 15, 8}), text = c.input("text", {2, 5, 10}), hint = net.hint(c.input("control", {1, 6, 10, 2}));
  const std::vector<float> timesteps{998.4375f, 251.5f};
  const std::vector<Tensor> both = net(x, c.grid, {.text = text, .timesteps = timesteps}, hint);
  for (int64_t i = 0; i < 2; ++i) {
    const auto one = [i](const Tensor& t) { return t.slice(0, i, i + 1); };
    const std::vector<Tensor> alone =
        net(one(x), c.grid, {.text = one(text), .timesteps = std::span(timesteps).subspan(size_t(i), 1)}, hint);
    for (size_t k = 0; k < both.size(); ++k) EXPECT_EQ(alone[k].to_vector(), one(both[k]).to_vector());
  }
}

// The streams of published weights exceed f16, so what leaves the network is f32 at every precision.
BACKEND_TEST(QwenImageControlNet, weights_in_16_bits_change_little) {
  const QwenControlCase c("controlnet_union", device);
  const std::vector<float> f32 = c.run(c.config()).back().to_vector();
  const Tensor f16 = c.run(c.config(), {.types = {.hold = DType::f16}}).back(),
               bf16 = c.run(c.config(), {.types = {.hold = DType::bf16}}).back();
  EXPECT_EQ(f16.dtype(), DType::f32);
  EXPECT_CLOSE(f16, f32, 4e-3);
  EXPECT_CLOSE(bf16, f32, 3e-2);
}

BACKEND_TEST(QwenImageControlNet, streamed_blocks_give_the_same_bits) {
  const QwenControlCase c("controlnet_fill", device);
  const std::vector<Tensor> whole = c.run(c.config()), streamed = c.run(c.config(), {.resident = 0});
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(streamed[i].to_vector(), whole[i].to_vector());
}

BACKEND_TEST(QwenImageControlNet, inputs_that_do_not_fit_are_refused) {
  const QwenControlCase c("controlnet_union", device);
  Weights w = c.weights();
  const ControlNet net(Scope(w), ControlNetConfig::from(c.config()));
  const Tensor x = c.input("x", {1, 15, 8}), text = c.input("text", {1, 5, 10});
  const std::vector<float> one{3.5f};
  const Conditions given{.text = text, .timesteps = one};
  EXPECT_THROW(net(x, c.grid, given, net.hint(c.input("control", {1, 6, 8, 2}))), ShapeError);
  EXPECT_THROW(net(x, c.grid, given, net.hint(c.input("control", {2, 6, 10, 2}))), ShapeError);
  EXPECT_THROW(net(x, {3, 4}, given, net.hint(c.input("control", {1, 6, 10, 2}))), ShapeError);
  EXPECT_THROW(net.hint(c.input("control", {1, 6, 10, 3})), ShapeError);
}

TEST(QwenImageControlNetConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const QwenControlCase c("controlnet_perturbed", *device);
  c.expect_refused<UnsupportedError>(
      {{"_class_name", "QwenImageTransformer2DModel"}, {"extra_condition_channels", 1}, {"num_layers", nullptr}, {"unheard_of", 1}},
      "config.json", ControlNetConfig::from);
  c.expect_refused<WeightError>({{"axes_dims_rope", {4, 12}}, {"num_layers", 0}, {"in_channels", 0}, {"joint_attention_dim", -1}}, "",
                                ControlNetConfig::from);
  parts::expect_reference_defaults_of<ControlNetConfig>(__FILE__, "controlnet_defaults.json");
}

}  // namespace
}  // namespace hearth::models::qwen_image
