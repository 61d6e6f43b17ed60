#include "models/pixart/transformer.h"

#include <set>

#include "parts/golden_case_test.h"

namespace hearth::models::pixart {
namespace {

using parts::expect_error;

struct PixartCase : parts::GoldenCase {
  PixartCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor run(const Config& json) const {
    const TransformerConfig c = TransformerConfig::from(json);
    Weights w = weights();
    const Transformer net(Scope(w), c);
    w.finish();
    const int64_t B = fact("batch"), H = fact("height"), W = fact("width"), L = fact("rows");
    const auto timesteps = fact("timesteps").get<std::vector<float>>(), size = fact("size").get<std::vector<float>>();
    return net(input("x", {B, H, W, c.in_channels}), {.text = input("text", {B, L, c.text}),
                                                      .lengths = fact("lengths").get<std::vector<int64_t>>(),
                                                      .timesteps = timesteps,
                                                      .height = size.empty() ? 0 : size[0],
                                                      .width = size.empty() ? 0 : size[1]});
  }
};

void check(Backend& device, const char* name, double limit) {
  const PixartCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("y"), limit);
  c.expect_taps(recorder, limit);
}

// Observed: worst of the output and all taps. Those of large timesteps and sizes are the rounding of the sinusoid's angles in f32.
BACKEND_TEST(PixartTransformer, matches_reference_alpha_with_sizes_and_masks) {
  check(device, "alpha", 1e-5);
}  // observed 1.9e-6 reference, 1.8e-6 cpu
BACKEND_TEST(PixartTransformer, matches_reference_sigma) { check(device, "sigma", 1e-5); }  // observed 1.6e-6 reference, 1.4e-6 cpu
BACKEND_TEST(PixartTransformer, matches_reference_at_the_training_size) { check(device, "square", 1e-5); }  // observed 2.2e-6 both
BACKEND_TEST(PixartTransformer, matches_reference_without_projection_and_other_patches) {
  check(device, "unusual", 2e-6);
}  // observed 6.6e-8 reference, 2.3e-7 cpu
BACKEND_TEST(PixartTransformer, eps_of_each_norm) { check(device, "faint", 1e-6); }  // observed 9.4e-8 reference, 1.1e-7 cpu

// Changing each key alone gives the result of the reference.
BACKEND_TEST(PixartTransformer, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 3e-6;
  const PixartCase c("perturbed", device);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])), c.golden.values(fmt::format("y.{}", i++)), limit);
  }
}

BACKEND_TEST(PixartTransformer, positions_are_the_reference_s) {
  const PixartCase c("positions", device);
  int i = 0;
  for (const auto& table : c.fact("tables")) {
    SCOPED_TRACE(table.dump());
    const Tensor y = sine_positions(device, table[0], table[1], table[2], table[3], table[4]);
    EXPECT_CLOSE(y, c.golden.values(std::to_string(i++)), 1e-6);
  }
}

// Rows do not affect each other; text behind a text's length has no effect.
BACKEND_TEST(PixartTransformer, an_image_alone_has_the_bits_of_a_batch) {
  const PixartCase c("alpha", device);
  const TransformerConfig config = TransformerConfig::from(c.config());
  Weights w = c.weights();
  const Transformer net(Scope(w), config);
  const Tensor x = c.input("x", {3, 6, 4, 4}), text = c.input("text", {3, 5, 20});
  const std::vector<float> times{900, 500, 20};
  const std::vector<int64_t> lengths{5, 1, 3};
  const Tensor all = net(x, {.text = text, .lengths = lengths, .timesteps = times, .height = 48, .width = 32});
  for (int64_t b = 0; b < 3; ++b) {
    const auto run = [&](int64_t rows) {
      return net(x.slice(0, b, b + 1), {.text = ops::contiguous(text.slice(0, b, b + 1).slice(1, 0, rows)),
                                        .lengths = {lengths[size_t(b)]},
                                        .timesteps = std::span(times).subspan(size_t(b), 1),
                                        .height = 48,
                                        .width = 32});
    };
    EXPECT_EQ(run(5).to_vector(), all.slice(0, b, b + 1).to_vector()) << b;
    EXPECT_CLOSE(run(lengths[size_t(b)]), all.slice(0, b, b + 1).to_vector(), 1e-6);
  }
}

TEST(PixartTransformerShapes, shapes_that_do_not_match_are_named) {
  const auto device = test::make_test_backend("reference");
  const PixartCase c("alpha", *device);
  Weights w = c.weights();
  const Transformer net(Scope(w), TransformerConfig::from(c.config()));
  const auto refused = [&](const Shape& x, const Shape& text, size_t times, size_t lengths, const std::string& words) {
    const std::vector<float> timesteps(times, 1.0f);
    expect_error<ShapeError>(
        [&] {
          net(Tensor::zeros(*device, x), {.text = Tensor::zeros(*device, text),
                                          .lengths = std::vector<int64_t>(lengths, 1),
                                          .timesteps = timesteps,
                                          .height = 32,
                                          .width = 32});
        },
        {words});
  };
  refused({1, 4, 4, 3}, {1, 2, 20}, 1, 1, "expected 4 channels");
  refused({1, 5, 4, 4}, {1, 2, 20}, 1, 1, "multiples of 2");
  refused({1, 4, 4, 4}, {1, 2, 21}, 1, 1, "the text is [1, 2, 21], expected [1, L, 20]");
  refused({2, 4, 4, 4}, {1, 2, 20}, 1, 1, "the text is [1, 2, 20], expected [2, L, 20]");
  refused({3, 4, 4, 4}, {3, 2, 20}, 2, 3, "2 timesteps, expected 1 or one for each of 3 images");
  refused({3, 4, 4, 4}, {3, 2, 20}, 1, 2, "2 lengths of texts, expected one for each of 3 images");
}

TEST(PixartTransformerConfig, published_configs_ask_for_exactly_the_published_tensors) {
  for (const auto& [name, tensors] : {std::pair{"alpha_1024", 611u}, {"alpha_512", 603u}, {"sigma_1024", 603u}}) {
    SCOPED_TRACE(name);
    const parts::Structure s(__FILE__, name);
    const TransformerConfig c = TransformerConfig::from(s.config());
    EXPECT_EQ(s.json.at("tensors").size(), tensors);
    EXPECT_EQ(c.conditions, name == std::string("alpha_1024"));
    EXPECT_TRUE(c.learns_variance());
    s.expect_same([&](const Scope& w) { return Transformer(w, c); },
                  [&](const Transformer& net, Backend& plan) {
                    const std::vector<float> timesteps{999};
                    const Tensor y = net(Tensor::empty(plan, {1, 128, 96, 4}),
                                         {.text = Tensor::empty(plan, {1, 9, 4096}), .timesteps = timesteps, .height = 1024, .width = 768});
                    EXPECT_EQ(y.shape(), (Shape{1, 128, 96, 8}));
                  });
  }
}

// For every key of the reference's config, its effect is proven above, or it is rejected here by name.
TEST(PixartTransformerConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const PixartCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{
      {"_class_name", "SD3Transformer2DModel"},
      {"norm_type", "layer_norm"},
      {"norm_elementwise_affine", true},
      {"activation_fn", "geglu"},
      {"attention_type", "gated"},
      {"upcast_attention", true},
      {"patch_size", nullptr},
      {"cross_attention_dim", nullptr},
      {"a_key_of_next_year", 1},
  };
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { TransformerConfig::from(c.config_with(entry.first, entry.second)); },
                                   {entry.first, "config.json"});
  }
  nlohmann::json old = c.config_json;
  old["_class_name"] = "Transformer2DModel", old.erase("norm_type");
  expect_error<UnsupportedError>([&] { TransformerConfig::from(Config::parse(old.dump(), "config.json")); }, {"norm_type"});
  // Sizes that the goldens vary together.
  std::set<std::string> looked_at{"_diffusers_version", "attention_head_dim", "num_attention_heads"};
  for (const auto& [key, value] : refused) looked_at.insert(key);
  for (const auto& change : c.fact("changes")) looked_at.insert(change["key"].get<std::string>());
  for (const auto& [key, value] : c.config_json.items()) EXPECT_TRUE(looked_at.contains(key)) << key << " is neither proven nor refused";
}

TEST(PixartTransformerConfig, contradictions_are_named) {
  const auto device = test::make_test_backend("reference");
  const PixartCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> wrong{
      {"cross_attention_dim", 13}, {"num_layers", 0}, {"patch_size", "two"}, {"patch_size", 129}, {"interpolation_scale", 0},
  };
  for (const auto& entry : wrong) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<WeightError>([&] { TransformerConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first});
  }
  const auto of_width = [&](int64_t heads, int64_t head, bool conditions) {
    nlohmann::json json = c.config_json;
    json["num_attention_heads"] = heads, json["attention_head_dim"] = head, json["cross_attention_dim"] = heads * head;
    json["use_additional_conditions"] = conditions;
    return [text = json.dump()] { TransformerConfig::from(Config::parse(text, "config.json")); };
  };
  expect_error<WeightError>(of_width(3, 2, true), {"a multiple of 4"});
  expect_error<WeightError>(of_width(2, 4, true), {"a multiple of 3"});
  of_width(2, 4, false)();
}

TEST(PixartTransformerConfig, defaults_are_the_reference_s) { parts::expect_reference_defaults<TransformerConfig>(__FILE__); }

}  // namespace
}  // namespace hearth::models::pixart
