#include "models/flux1/transformer.h"

#include "parts/golden_case_test.h"

namespace hearth::models::flux1 {
namespace {

// A golden of golden/make.py, run with its own config or with a changed one.
struct FluxCase : parts::GoldenCase {
  FluxCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor run(const Config& json, const LoadOptions& options = {}) const {
    const TransformerConfig c = TransformerConfig::from(json);
    Weights w = weights(options);
    const Transformer net(Scope(w), c);
    w.finish();
    const int64_t n = fact("batch"), L = fact("tokens");
    std::vector<Position> positions;
    int64_t rows = 0;
    for (const auto& size : fact("sizes")) {
      append_positions(positions, int32_t(rows == 0 ? 0 : positions.back()[0] + 1), size[0], size[1]);
      if (rows == 0) rows = int64_t(positions.size());
    }
    const auto timesteps = fact("timesteps").get<std::vector<float>>(), guidance = fact("guidance").get<std::vector<float>>();
    return net(input("x", {n, int64_t(positions.size()), c.in_channels}), positions, rows,
               {.text = input("text", {n, L, c.text}),
                .pooled = input("pooled", {n, c.pooled}),
                .timesteps = timesteps,
                .guidance = c.guidance ? guidance : std::span<const float>()});
  }
};

void check(Backend& device, const char* name, double limit) {
  const FluxCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("y"), limit);
  c.expect_taps(recorder, limit);
}

// Most of the error is torch's: its exp is off by one bit for two of the 128 frequencies of the sinusoids (two that 1000·σ and
// 1000·guidance multiply), as `golden/make.py` ran.
BACKEND_TEST(FluxTransformer, matches_reference_dev) { check(device, "dev", 2e-5); }          // observed 2.7e-6 reference, 2.8e-6 cpu
BACKEND_TEST(FluxTransformer, matches_reference_schnell) { check(device, "schnell", 2e-5); }  // observed 2.5e-6 reference, 2.6e-6 cpu
BACKEND_TEST(FluxTransformer, matches_reference_with_more_channels_in_than_out) { check(device, "fill", 5e-5); }  // observed 9.0e-6
BACKEND_TEST(FluxTransformer, matches_reference_with_further_images) { check(device, "kontext", 1e-4); }          // observed 1.2e-5
BACKEND_TEST(FluxTransformer, eps_of_each_norm) { check(device, "faint", 5e-6); }                                 // observed 7.5e-7

// Changing each key alone gives the result of the reference.
BACKEND_TEST(FluxTransformer, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 4e-6;  // observed 9.8e-8 reference, 4.8e-7 cpu
  const FluxCase c("perturbed", device);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])), c.golden.values(fmt::format("y.{}", i++)), limit);
  }
}

BACKEND_TEST(FluxTransformer, packs_latents_as_the_reference) {
  const FluxCase c("packing", device);
  const Tensor latents = c.input("latents", {2, 4, 6, 5}), tokens = pack(latents);
  EXPECT_EQ(tokens.shape(), (Shape{2, 6, 20}));
  EXPECT_EQ(tokens.to_vector(), c.golden.values("tokens"));
  EXPECT_EQ(unpack(tokens, 4, 6).to_vector(), latents.to_vector());
  EXPECT_THROW(pack(latents.slice(1, 0, 3)), ShapeError);
  EXPECT_THROW(unpack(tokens, 4, 4), ShapeError);
}

// An image's prediction does not depend on the others of its batch.
BACKEND_TEST(FluxTransformer, a_batch_is_its_images) {
  const FluxCase c("dev", device);
  const TransformerConfig config = TransformerConfig::from(c.config());
  Weights w = c.weights();
  const Transformer net(Scope(w), config);
  std::vector<Position> positions;
  append_positions(positions, 0, 6, 10);
  const Tensor x = c.input("x", {2, 15, 8}), text = c.input("text", {2, 5, 10}), pooled = c.input("pooled", {2, 6});
  const std::vector<float> timesteps{998.4375f, 251.5f}, guidance{3.5f};
  const Tensor both = net(x, positions, 15, {.text = text, .pooled = pooled, .timesteps = timesteps, .guidance = guidance});
  for (int64_t i = 0; i < 2; ++i) {
    const auto one = [i](const Tensor& t) { return t.slice(0, i, i + 1); };
    const Tensor alone =
        net(one(x), positions, 15,
            {.text = one(text), .pooled = one(pooled), .timesteps = std::span(timesteps).subspan(size_t(i), 1), .guidance = guidance});
    EXPECT_EQ(alone.to_vector(), one(both).to_vector());
  }
}

BACKEND_TEST(FluxTransformer, inputs_that_do_not_fit_are_refused) {
  const FluxCase c("dev", device);
  Weights w = c.weights();
  const Transformer net(Scope(w), TransformerConfig::from(c.config()));
  std::vector<Position> positions;
  append_positions(positions, 0, 6, 10);
  const Tensor x = c.input("x", {1, 15, 8}), text = c.input("text", {1, 5, 10}), pooled = c.input("pooled", {1, 6});
  const std::vector<float> one{3.5f}, two{1, 2};
  const Conditions given{.text = text, .pooled = pooled, .timesteps = one, .guidance = one};
  EXPECT_EQ(net(x, positions, 15, given).shape(), (Shape{1, 15, 8}));
  const auto refused = [&](const Conditions& wrong) { EXPECT_THROW(net(x, positions, 15, wrong), ShapeError); };
  refused({.text = text, .pooled = pooled, .timesteps = one});
  refused({.text = text, .pooled = pooled, .timesteps = two, .guidance = one});
  refused({.text = text, .timesteps = one, .guidance = one});
  refused({.text = text.slice(2, 0, 9), .pooled = pooled, .timesteps = one, .guidance = one});
  EXPECT_THROW(net(x, positions, 16, given), ShapeError);
  EXPECT_THROW(net(x.slice(1, 0, 14), positions, 14, given), ShapeError);
}

// Weights rounded to 16 bits, arithmetic in f32: only the rounding of the weights shows.
BACKEND_TEST(FluxTransformer, weights_in_16_bits_change_little) {
  const FluxCase c("dev", device);
  const std::vector<float> f32 = c.run(c.config()).to_vector();
  const Tensor f16 = c.run(c.config(), {.types = {.hold = DType::f16}}), bf16 = c.run(c.config(), {.types = {.hold = DType::bf16}});
  EXPECT_CLOSE(f16, f32, 3e-3);   // observed 5.0e-4
  EXPECT_CLOSE(bf16, f32, 2e-2);  // observed 5.0e-3
  EXPECT_NE(f16.to_vector(), f32);
  EXPECT_NE(bf16.to_vector(), f32);
}

TEST(FluxTransformerConfig, published_config_asks_for_exactly_the_published_tensors) {
  const parts::Structure s(__FILE__, "flux1-dev");
  const TransformerConfig c = TransformerConfig::from(s.config());
  EXPECT_EQ(s.json.at("tensors").size(), 1160u);
  s.expect_same(
      [&](const Scope& w) { return Transformer(w, c); },
      [](const Transformer& net, Backend& plan) {
        std::vector<Position> positions;
        append_positions(positions, 0, 8, 8);
        const std::vector<float> one{1};
        const Tensor y =
            net(Tensor::empty(plan, {1, 16, 64}), positions, 16,
                {.text = Tensor::empty(plan, {1, 8, 4096}), .pooled = Tensor::empty(plan, {1, 768}), .timesteps = one, .guidance = one});
        EXPECT_EQ(y.shape(), (Shape{1, 16, 64}));
      });
}

TEST(FluxTransformerConfig, defaults_are_the_reference_s) { parts::expect_reference_defaults<TransformerConfig>(__FILE__); }

TEST(FluxTransformerConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const FluxCase c("perturbed", *device);
  const auto read = [&](const std::string& key, const nlohmann::json& value) { return TransformerConfig::from(c.config_with(key, value)); };
  using parts::expect_error;
  expect_error<UnsupportedError>([&] { read("patch_size", 2); }, {"patch_size", "config.json"});
  expect_error<UnsupportedError>([&] { read("guidance_embeds", nullptr); }, {"guidance_embeds"});
  expect_error<UnsupportedError>([&] { read("pos_embed_theta", 10000); }, {"pos_embed_theta"});
  expect_error<WeightError>([&] { read("axes_dims_rope", {4, 12}); }, {"axes_dims_rope", "3 (image, row, column)"});
  expect_error<WeightError>([&] { read("axes_dims_rope", {5, 5, 6}); }, {"axes_dims_rope", "even"});
  expect_error<WeightError>([&] { read("attention_head_dim", 32); }, {"axes_dims_rope", "attention_head_dim"});
  expect_error<WeightError>([&] { read("num_layers", 0); }, {"num_layers"});
  expect_error<WeightError>([&] { read("in_channels", "many"); }, {"in_channels"});
}

}  // namespace
}  // namespace hearth::models::flux1
