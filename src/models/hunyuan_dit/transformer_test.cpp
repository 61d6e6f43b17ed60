#include "models/hunyuan_dit/transformer.h"

#include <set>

#include "parts/golden_case_test.h"

namespace hearth::models::hunyuan_dit {
namespace {

using parts::expect_error;

Tensor sizes_of(const SizeConditions& sizes, Backend& device, int64_t B) { return ops::repeat_batch(embed_sizes(device, sizes), B); }

struct HunyuanCase : parts::GoldenCase {
  HunyuanCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor run(const Config& json) const {
    const TransformerConfig c = TransformerConfig::from(json);
    Weights w = weights();
    const Transformer net(Scope(w), c);
    w.finish();
    const int64_t B = fact("batch"), H = fact("height"), W = fact("width");
    const auto timesteps = fact("timesteps").get<std::vector<float>>(), sizes = fact("sizes").get<std::vector<float>>();
    Inputs in{.text = input("text", {B, c.text_rows, c.text}),
              .t5 = input("t5", {B, c.t5_rows, c.t5}),
              .text_lengths = fact("lengths").get<std::vector<int64_t>>(),
              .t5_lengths = fact("lengths_t5").get<std::vector<int64_t>>(),
              .timesteps = timesteps};
    if (c.conditions) in.sizes = sizes_of({sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]}, *device, B);
    return net(input("x", {B, H, W, c.in_channels}), in);
  }
};

void check(Backend& device, const char* name, double limit) {
  const HunyuanCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("y"), limit);
  c.expect_taps(recorder, limit);
}

// Observed: worst of the output and all taps. Those of large timesteps and sizes are the rounding of the sinusoid's angles in f32.
BACKEND_TEST(HunyuanTransformer, matches_reference_1_1_with_sizes_and_masks) {
  check(device, "v11", 2e-5);
}  // observed 4.1e-6 reference, 4.2e-6 cpu
BACKEND_TEST(HunyuanTransformer, matches_reference_1_2) { check(device, "v12", 1e-5); }  // observed 2.6e-6 reference, 2.8e-6 cpu
BACKEND_TEST(HunyuanTransformer, matches_reference_without_skips_and_text) {
  check(device, "unusual", 1e-5);
}  // observed 2.0e-6 reference, 2.1e-6 cpu
BACKEND_TEST(HunyuanTransformer, eps_of_each_norm) { check(device, "faint", 1e-6); }  // observed 1.0e-7 reference, 1.7e-7 cpu

// Changing each key alone gives the result of the reference.
BACKEND_TEST(HunyuanTransformer, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 2e-5;  // observed 6.6e-6 reference, 5.9e-6 cpu
  const HunyuanCase c("perturbed", device);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])), c.golden.values(fmt::format("y.{}", i++)), limit);
  }
}

BACKEND_TEST(HunyuanTransformer, rotations_are_the_reference_s) {
  const HunyuanCase c("rotations", device);
  int i = 0;
  for (const auto& table : c.fact("tables")) {
    SCOPED_TRACE(table.dump());
    EXPECT_CLOSE(rotary_table(device, table[0], table[1], table[2], table[3]), c.golden.values(std::to_string(i++)), 3e-6);
  }
}

// Rows do not affect each other.
BACKEND_TEST(HunyuanTransformer, an_image_alone_has_the_bits_of_a_batch) {
  const HunyuanCase c("v11", device);
  Weights w = c.weights();
  const Transformer net(Scope(w), TransformerConfig::from(c.config()));
  const Tensor x = c.input("x", {3, 6, 4, 4}), text = c.input("text", {3, 5, 12}), t5 = c.input("t5", {3, 7, 16});
  const std::vector<float> times{900, 500, 20};
  const std::vector<int64_t> lengths{5, 1, 3}, lengths_t5{7, 2, 1};
  const SizeConditions sizes{9, 8, 7, 6, 5, 4};
  const Tensor all = net(
      x,
      {.text = text, .t5 = t5, .text_lengths = lengths, .t5_lengths = lengths_t5, .timesteps = times, .sizes = sizes_of(sizes, device, 3)});
  for (int64_t b = 0; b < 3; ++b) {
    const Tensor one = net(x.slice(0, b, b + 1), {.text = text.slice(0, b, b + 1),
                                                  .t5 = t5.slice(0, b, b + 1),
                                                  .text_lengths = {lengths[size_t(b)]},
                                                  .t5_lengths = {lengths_t5[size_t(b)]},
                                                  .timesteps = std::span(times).subspan(size_t(b), 1),
                                                  .sizes = sizes_of(sizes, device, 1)});
    EXPECT_EQ(one.to_vector(), all.slice(0, b, b + 1).to_vector()) << b;
  }
}

TEST(HunyuanTransformerShapes, shapes_that_do_not_match_are_named) {
  const auto device = test::make_test_backend("reference");
  const HunyuanCase c("v11", *device);
  Weights w = c.weights();
  const Transformer net(Scope(w), TransformerConfig::from(c.config()));
  const auto refused = [&](const Shape& x, const Shape& text, const Shape& t5, size_t times, std::vector<int64_t> lengths,
                           const std::string& words) {
    const std::vector<float> timesteps(times, 1.0f);
    const std::vector<int64_t> ones(size_t(x[0]), 1);
    expect_error<ShapeError>(
        [&] {
          net(Tensor::zeros(*device, x), {.text = Tensor::zeros(*device, text),
                                          .t5 = Tensor::zeros(*device, t5),
                                          .text_lengths = lengths,
                                          .t5_lengths = ones,
                                          .timesteps = timesteps,
                                          .sizes = sizes_of({}, *device, x[0])});
        },
        {words});
  };
  refused({1, 4, 4, 3}, {1, 5, 12}, {1, 7, 16}, 1, {1}, "expected 4 channels");
  refused({1, 5, 4, 4}, {1, 5, 12}, {1, 7, 16}, 1, {1}, "multiples of 2");
  refused({1, 4, 4, 4}, {1, 4, 12}, {1, 7, 16}, 1, {1}, "the text is [1, 4, 12], expected [1, 5, 12]");
  refused({1, 4, 4, 4}, {1, 5, 12}, {1, 7, 15}, 1, {1}, "T5's text is [1, 7, 15], expected [1, 7, 16]");
  refused({3, 4, 4, 4}, {3, 5, 12}, {3, 7, 16}, 2, {1, 1, 1}, "2 timesteps, expected 1 or one for each of 3 images");
  refused({1, 4, 4, 4}, {1, 5, 12}, {1, 7, 16}, 1, {1, 1}, "2 lengths of texts, expected one for each of 1 images");
  refused({1, 4, 4, 4}, {1, 5, 12}, {1, 7, 16}, 1, {6}, "a text has 6 rows, expected 0 to 5");
}

TEST(HunyuanTransformerConfig, published_configs_ask_for_exactly_the_published_tensors) {
  for (const char* name : {"v11", "v12"}) {
    SCOPED_TRACE(name);
    const parts::Structure s(__FILE__, name);
    const TransformerConfig c = TransformerConfig::from(s.config());
    EXPECT_EQ(c.conditions, name == std::string("v11"));
    EXPECT_EQ(c.mlp_width(), 6144);
    s.expect_same([&](const Scope& w) { return Transformer(w, c); },
                  [&](const Transformer& net, Backend& plan) {
                    const std::vector<float> timesteps{999};
                    const Tensor y = net(Tensor::empty(plan, {1, 32, 48, 4}), {.text = Tensor::empty(plan, {1, 77, 1024}),
                                                                               .t5 = Tensor::empty(plan, {1, 256, 2048}),
                                                                               .text_lengths = {77},
                                                                               .t5_lengths = {256},
                                                                               .timesteps = timesteps,
                                                                               .sizes = Tensor::empty(plan, {1, 1536})});
                    EXPECT_EQ(y.shape(), (Shape{1, 32, 48, 8}));
                  });
  }
}

// For every key of the reference's config, its effect is proven above, or it is rejected here by name.
TEST(HunyuanTransformerConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const HunyuanCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{{"_class_name", "SD3Transformer2DModel"},
                                                                    {"activation_fn", "geglu"},
                                                                    {"learn_sigma", false},
                                                                    {"patch_size", nullptr},
                                                                    {"a_key_of_next_year", 1}};
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { TransformerConfig::from(c.config_with(entry.first, entry.second)); },
                                   {entry.first, "config.json"});
  }
  // Sizes that the goldens vary together.
  std::set<std::string> looked_at{"_diffusers_version", "attention_head_dim", "num_attention_heads", "hidden_size"};
  for (const auto& [key, value] : refused) looked_at.insert(key);
  for (const auto& change : c.fact("changes")) looked_at.insert(change["key"].get<std::string>());
  for (const auto& [key, value] : c.config_json.items()) EXPECT_TRUE(looked_at.contains(key)) << key << " is neither proven nor refused";
}

TEST(HunyuanTransformerConfig, contradictions_are_named) {
  const auto device = test::make_test_backend("reference");
  const HunyuanCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> wrong{
      {"hidden_size", 12}, {"num_layers", 3}, {"patch_size", "two"}, {"cross_attention_dim_t5", 12}, {"mlp_ratio", 0.0}};
  for (const auto& entry : wrong) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<WeightError>([&] { TransformerConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first});
  }
  expect_error<WeightError>([] { TransformerConfig::from(Config::parse(R"({"patch_size": 2})", "config.json")); }, {"lacks 'in_channels'"});
}

}  // namespace
}  // namespace hearth::models::hunyuan_dit
