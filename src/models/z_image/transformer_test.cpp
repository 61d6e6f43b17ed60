#include "models/z_image/transformer.h"

#include "parts/golden_case_test.h"

namespace hearth::models::z_image {
namespace {

// A golden of golden/make.py, run with its own config or with a changed one.
struct ZImageCase : parts::GoldenCase {
  ZImageCase(const std::string& name, Backend& backend)
      : GoldenCase(__FILE__, name, backend),
        lengths(fact("lengths").get<std::vector<int64_t>>()),
        times(fact("times").get<std::vector<float>>()) {}

  Tensor x(const TransformerConfig& c) const {
    return input("x", {std::ssize(lengths), fact("size")[0].get<int64_t>(), fact("size")[1].get<int64_t>(), c.channels});
  }
  Tensor text(const TransformerConfig& c) const { return input("text", {std::ssize(lengths), std::ranges::max(lengths), c.text}); }

  // Texts of equal lengths together, others image by image.
  Tensor run(const Config& json, const LoadOptions& options = {}) const {
    const TransformerConfig c = TransformerConfig::from(json);
    Weights w = weights(options);
    const Transformer net(Scope(w), c);
    w.finish();
    const Tensor images = x(c), states = text(c);
    if (std::ranges::adjacent_find(lengths, std::not_equal_to()) == lengths.end()) return net(images, times, states);
    std::vector<Tensor> all;
    for (int64_t i = 0; i < std::ssize(lengths); ++i)
      all.push_back(net(images.slice(0, i, i + 1), std::span(times).subspan(size_t(i), 1),
                        states.slice(0, i, i + 1).slice(1, 0, lengths[size_t(i)])));
    return ops::concat(all, 0);
  }

  std::vector<int64_t> lengths;
  std::vector<float> times;
};

void check(Backend& device, const char* name, double limit) {
  const ZImageCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("y"), limit);
  c.expect_taps(recorder, limit);
}

// Most of the error is torch's: its exp is off by one bit for two of the 128 frequencies of the time.
BACKEND_TEST(ZImageTransformer, matches_reference_with_padding) { check(device, "small", 2e-5); }                       // observed 3.4e-6
BACKEND_TEST(ZImageTransformer, matches_reference_without_padding) { check(device, "full", 2e-5); }                     // observed 3.4e-6
BACKEND_TEST(ZImageTransformer, matches_reference_with_texts_of_other_lengths) { check(device, "lengths", 2e-5); }      // observed 4.7e-6
BACKEND_TEST(ZImageTransformer, matches_reference_without_norms_of_queries_and_keys) { check(device, "plain", 2e-5); }  // observed 4.6e-6
BACKEND_TEST(ZImageTransformer, eps_of_each_norm) { check(device, "faint", 1e-6); }                                     // observed 1.5e-7

// Changing each key alone gives the result of the reference.
BACKEND_TEST(ZImageTransformer, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 1e-5;  // observed 2.4e-6
  const ZImageCase c("perturbed", device);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])), c.golden.values(fmt::format("y.{}", i++)), limit);
  }
}

// An image's prediction does not depend on the others of its batch.
BACKEND_TEST(ZImageTransformer, a_batch_is_its_images) {
  const ZImageCase c("small", device);
  const TransformerConfig config = TransformerConfig::from(c.config());
  Weights w = c.weights();
  const Transformer net(Scope(w), config);
  const Tensor x = c.x(config), text = c.text(config), both = net(x, c.times, text);
  for (int64_t i = 0; i < 2; ++i)
    EXPECT_EQ(net(x.slice(0, i, i + 1), std::span(c.times).subspan(size_t(i), 1), text.slice(0, i, i + 1)).to_vector(),
              both.slice(0, i, i + 1).to_vector());
}

BACKEND_TEST(ZImageTransformer, packs_latents_with_the_channel_innermost) {
  std::vector<float> values(2 * 4 * 6 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = float(i);
  const Tensor latents = Tensor::from(device, {2, 4, 6, 3}, values), tokens = pack(latents);
  ASSERT_EQ(tokens.shape(), (Shape{2, 6, 12}));
  const std::vector<float> all = tokens.to_vector();
  // Token (1, 2) of the first image: rows 2 and 3, columns 4 and 5.
  EXPECT_EQ(std::vector<float>(all.begin() + 5 * 12, all.begin() + 6 * 12),
            (std::vector<float>{48, 49, 50, 51, 52, 53, 66, 67, 68, 69, 70, 71}));
  EXPECT_EQ(unpack(tokens, 4, 6).to_vector(), latents.to_vector());
  EXPECT_THROW(pack(latents.slice(1, 0, 3)), ShapeError);
  EXPECT_THROW(unpack(tokens, 4, 8), ShapeError);
}

BACKEND_TEST(ZImageTransformer, inputs_that_do_not_fit_are_refused) {
  const ZImageCase c("small", device);
  Weights w = c.weights();
  const Transformer net(Scope(w), TransformerConfig::from(c.config()));
  const std::vector<float> one{0.5f}, three{0, 0, 0};
  const auto zeros = [&](const Shape& shape) { return Tensor::zeros(device, shape); };
  EXPECT_EQ(net(zeros({1, 2, 4, 4}), one, zeros({1, 3, 10})).shape(), (Shape{1, 2, 4, 4}));
  EXPECT_THROW(net(zeros({1, 2, 4, 5}), one, zeros({1, 3, 10})), ShapeError);
  EXPECT_THROW(net(zeros({1, 2, 3, 4}), one, zeros({1, 3, 10})), ShapeError);
  EXPECT_THROW(net(zeros({1, 2, 4, 4}), one, zeros({1, 3, 9})), ShapeError);
  EXPECT_THROW(net(zeros({1, 2, 4, 4}), one, zeros({2, 3, 10})), ShapeError);
  EXPECT_THROW(net(zeros({1, 2, 4, 4}), three, zeros({1, 3, 10})), ShapeError);
  EXPECT_THROW(net(zeros({1, 2, 42, 4}), one, zeros({1, 3, 10})), ShapeError);  // 21 rows of tokens, 20 places
  EXPECT_THROW(net(zeros({1, 2, 4, 4}), one, zeros({1, 65, 10})), ShapeError);  // 96 text tokens with padding, 96 places
  EXPECT_EQ(net(zeros({1, 40, 2, 4}), one, zeros({1, 64, 10})).shape(), (Shape{1, 40, 2, 4}));
}

// Weights rounded to 16 bits, arithmetic in f32: only the rounding of the weights shows.
BACKEND_TEST(ZImageTransformer, weights_in_16_bits_change_little) {
  const ZImageCase c("small", device);
  const std::vector<float> f32 = c.run(c.config()).to_vector();
  const Tensor f16 = c.run(c.config(), {.types = {.hold = DType::f16}}), bf16 = c.run(c.config(), {.types = {.hold = DType::bf16}});
  EXPECT_CLOSE(f16, f32, 4e-3);   // observed 7.7e-4
  EXPECT_CLOSE(bf16, f32, 3e-2);  // observed 8.9e-3
  EXPECT_NE(f16.to_vector(), f32);
  EXPECT_NE(bf16.to_vector(), f32);
}

BACKEND_TEST(ZImageTransformer, streamed_blocks_give_the_same_bits) {
  const ZImageCase c("full", device);
  EXPECT_EQ(c.run(c.config(), {.resident = 0}).to_vector(), c.run(c.config()).to_vector());
}

TEST(ZImageTransformerConfig, published_config_asks_for_exactly_the_published_tensors) {
  const parts::Structure s(__FILE__, "z-image");
  const TransformerConfig c = TransformerConfig::from(s.config());
  EXPECT_EQ(s.json.at("tensors").size(), 521u);
  s.expect_same([&](const Scope& w) { return Transformer(w, c); },
                [](const Transformer& net, Backend& plan) {
                  const std::vector<float> one{1};
                  const Tensor y = net(Tensor::empty(plan, {1, 16, 16, 16}), one, Tensor::empty(plan, {1, 32, 2560}));
                  EXPECT_EQ(y.shape(), (Shape{1, 16, 16, 16}));
                });
}

TEST(ZImageTransformerConfig, defaults_are_the_reference_s) { parts::expect_reference_defaults<TransformerConfig>(__FILE__); }

TEST(ZImageTransformerConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const ZImageCase c("perturbed", *device);
  const auto read = [&](const std::string& key, const nlohmann::json& value) { return TransformerConfig::from(c.config_with(key, value)); };
  using parts::expect_error;
  expect_error<UnsupportedError>([&] { read("all_patch_size", {1}); }, {"all_patch_size", "config.json"});
  expect_error<UnsupportedError>([&] { read("all_patch_size", {2, 4}); }, {"all_patch_size"});
  expect_error<UnsupportedError>([&] { read("all_f_patch_size", {2}); }, {"all_f_patch_size"});
  expect_error<UnsupportedError>([&] { read("siglip_feat_dim", 1152); }, {"siglip_feat_dim"});
  expect_error<UnsupportedError>([&] { read("n_kv_heads", 1); }, {"n_kv_heads"});
  expect_error<UnsupportedError>([&] { read("qk_norm", nullptr); }, {"qk_norm"});
  expect_error<UnsupportedError>([&] { read("new_key", 1); }, {"new_key"});
  expect_error<WeightError>([&] { read("axes_dims", {4, 8}); }, {"axes_dims", "expected 3"});
  expect_error<WeightError>([&] { read("axes_dims", {3, 3, 6}); }, {"axes_dims", "even"});
  expect_error<WeightError>([&] { read("axes_dims", {4, 4, 6}); }, {"axes_dims", "n_heads"});
  expect_error<WeightError>([&] { read("axes_lens", {1, 20, 20}); }, {"axes_lens"});
  expect_error<WeightError>([&] { read("dim", 25); }, {"dim"});
  expect_error<WeightError>([&] { read("n_layers", 0); }, {"n_layers"});
}

}  // namespace
}  // namespace hearth::models::z_image
