#include "models/qwen_image/transformer.h"

#include "parts/golden_case_test.h"

namespace hearth::models::qwen_image {
namespace {

// A golden of golden/make.py, run with its own config or with a changed one.
struct QwenImageCase : parts::GoldenCase {
  QwenImageCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {
    for (const auto& size : fact("sizes")) images.push_back({size[0], size[1]}), tokens += images.back().tokens();
  }

  Tensor run(const Config& json, const LoadOptions& options = {}) const {
    const TransformerConfig c = TransformerConfig::from(json);
    Weights w = weights(options);
    const Transformer net(Scope(w), c);
    w.finish();
    const int64_t n = fact("batch");
    const auto timesteps = fact("timesteps").get<std::vector<float>>();
    return net(input("x", {n, tokens, c.in_channels}), images,
               {.text = input("text", {n, fact("tokens"), c.text}), .timesteps = timesteps});
  }

  std::vector<Grid> images;
  int64_t tokens = 0;
};

void check(Backend& device, const char* name, double limit) {
  const QwenImageCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("y"), limit);
  c.expect_taps(recorder, limit);
}

// Most of the error is torch's: its exp is off by one bit for two of the 128 frequencies of the sinusoids.
BACKEND_TEST(QwenImageTransformer, matches_reference) { check(device, "plain", 4e-5); }                             // observed 1.1e-5
BACKEND_TEST(QwenImageTransformer, matches_reference_of_other_sizes) { check(device, "other", 4e-5); }              // observed 7.3e-6
BACKEND_TEST(QwenImageTransformer, matches_reference_with_reference_images) { check(device, "references", 1e-5); }  // observed 1.1e-6
BACKEND_TEST(QwenImageTransformer, matches_reference_with_reference_images_at_timestep_zero) {
  check(device, "zero", 2e-6);
}  // observed 2.7e-7
BACKEND_TEST(QwenImageTransformer, matches_reference_without_reference_images_at_timestep_zero) {
  check(device, "zero_alone", 6e-6);
}  // observed 6.7e-7
BACKEND_TEST(QwenImageTransformer, eps_of_each_norm) { check(device, "faint", 1e-6); }  // observed 1.2e-7

// Changing each key alone gives the result of the reference.
BACKEND_TEST(QwenImageTransformer, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 4e-5;
  const QwenImageCase c("perturbed", device);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])), c.golden.values(fmt::format("y.{}", i++)), limit);
  }
}

// An image's prediction does not depend on the others of its batch.
BACKEND_TEST(QwenImageTransformer, a_batch_is_its_images) {
  const QwenImageCase c("zero", device);
  Weights w = c.weights();
  const Transformer net(Scope(w), TransformerConfig::from(c.config()));
  const Tensor x = c.input("x", {2, c.tokens, 8}), text = c.input("text", {2, 5, 10});
  const std::vector<float> timesteps{998.4375f, 251.5f};
  const Tensor both = net(x, c.images, {.text = text, .timesteps = timesteps});
  for (int64_t i = 0; i < 2; ++i) {
    const auto one = [i](const Tensor& t) { return t.slice(0, i, i + 1); };
    const Tensor alone = net(one(x), c.images, {.text = one(text), .timesteps = std::span(timesteps).subspan(size_t(i), 1)});
    EXPECT_EQ(alone.to_vector(), one(both).to_vector());
  }
}

BACKEND_TEST(QwenImageTransformer, inputs_that_do_not_fit_are_refused) {
  const QwenImageCase c("plain", device);
  Weights w = c.weights();
  const Transformer net(Scope(w), TransformerConfig::from(c.config()));
  const Tensor x = c.input("x", {1, 15, 8}), text = c.input("text", {1, 5, 10});
  const std::vector<float> one{3.5f}, two{1, 2};
  EXPECT_EQ(net(x, c.images, {.text = text, .timesteps = one}).shape(), (Shape{1, 15, 8}));
  const auto refused = [&](const Tensor& given, const std::vector<Grid>& images, const Conditions& conditions) {
    EXPECT_THROW(net(given, images, conditions), ShapeError);
  };
  refused(x, c.images, {.text = text, .timesteps = two});
  refused(x, c.images, {.text = text.slice(2, 0, 9), .timesteps = one});
  refused(x, {{3, 4}}, {.text = text, .timesteps = one});
  refused(x, {{3, 5}, {1, 1}}, {.text = text, .timesteps = one});
  refused(x.slice(2, 0, 7), c.images, {.text = text, .timesteps = one});
  EXPECT_THROW(pack(c.input("x", {1, 3, 4, 2})), ShapeError);
  EXPECT_THROW(unpack(x, 4, 10), ShapeError);
}

// The channel of a token is outermost.
BACKEND_TEST(QwenImageTransformer, a_token_has_two_by_two_pixels) {
  std::vector<float> pixels(2 * 4 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = float(i);
  const Tensor latents = Tensor::from(device, {1, 2, 4, 3}, pixels), tokens = pack(latents);
  EXPECT_EQ(tokens.shape(), (Shape{1, 2, 12}));
  EXPECT_EQ(tokens.slice(1, 0, 1).to_vector(), (std::vector<float>{0, 3, 12, 15, 1, 4, 13, 16, 2, 5, 14, 17}));
  EXPECT_EQ(unpack(tokens, 2, 4).to_vector(), pixels);
}

// Weights rounded to 16 bits, arithmetic in f32: only the rounding of the weights shows.
BACKEND_TEST(QwenImageTransformer, weights_in_16_bits_change_little) {
  const QwenImageCase c("plain", device);
  const std::vector<float> f32 = c.run(c.config()).to_vector();
  const Tensor f16 = c.run(c.config(), {.types = {.hold = DType::f16}}), bf16 = c.run(c.config(), {.types = {.hold = DType::bf16}});
  EXPECT_CLOSE(f16, f32, 4e-3);
  EXPECT_CLOSE(bf16, f32, 3e-2);
  EXPECT_NE(f16.to_vector(), f32);
  EXPECT_NE(bf16.to_vector(), f32);
}

BACKEND_TEST(QwenImageTransformer, streamed_blocks_give_the_same_bits) {
  const QwenImageCase c("zero", device);
  EXPECT_EQ(c.run(c.config(), {.resident = 0}).to_vector(), c.run(c.config()).to_vector());
}

TEST(QwenImageTransformerConfig, the_published_config_asks_for_exactly_the_published_tensors) {
  const parts::Structure s(__FILE__, "qwen-image");
  const TransformerConfig c = TransformerConfig::from(s.config());
  s.expect_same(
      [&](const Scope& w) { return Transformer(w, c); },
      [&](const Transformer& net, Backend& plan) {
        const std::vector<float> one{1};
        const std::vector<Grid> images{{4, 4}};
        const Tensor y = net(Tensor::empty(plan, {1, 16, 64}), images, {.text = Tensor::empty(plan, {1, 8, c.text}), .timesteps = one});
        EXPECT_EQ(y.shape(), (Shape{1, 16, 64}));
      });
}

TEST(QwenImageTransformerConfig, defaults_are_the_reference_s) { parts::expect_reference_defaults<TransformerConfig>(__FILE__); }

TEST(QwenImageTransformerConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const QwenImageCase c("perturbed", *device);
  const auto read = [&](const std::string& key, const nlohmann::json& value) { return TransformerConfig::from(c.config_with(key, value)); };
  using parts::expect_error;
  expect_error<UnsupportedError>([&] { read("patch_size", 1); }, {"patch_size", "config.json"});
  expect_error<UnsupportedError>([&] { read("guidance_embeds", true); }, {"guidance_embeds"});
  expect_error<UnsupportedError>([&] { read("use_additional_t_cond", true); }, {"use_additional_t_cond"});
  expect_error<UnsupportedError>([&] { read("use_layer3d_rope", true); }, {"use_layer3d_rope"});
  expect_error<UnsupportedError>([&] { read("zero_cond_t", nullptr); }, {"zero_cond_t"});
  expect_error<UnsupportedError>([&] { read("new_key", 768); }, {"new_key"});
  expect_error<WeightError>([&] { read("axes_dims_rope", {4, 12}); }, {"axes_dims_rope", "expected 3"});
  expect_error<WeightError>([&] { read("axes_dims_rope", {5, 5, 6}); }, {"axes_dims_rope", "even"});
  expect_error<WeightError>([&] { read("attention_head_dim", 32); }, {"axes_dims_rope", "attention_head_dim"});
  expect_error<WeightError>([&] { read("num_layers", 0); }, {"num_layers"});
}

}  // namespace
}  // namespace hearth::models::qwen_image
