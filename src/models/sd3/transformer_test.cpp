#include "models/sd3/transformer.h"

#include <set>

#include "parts/golden_case_test.h"

namespace hearth::models::sd3 {
namespace {

using parts::expect_error;

// Weights by name; the position table times a factor (golden/make.py).
class WithPositions : public parts::ScaledSource {
 public:
  WithPositions(float factor, float positions) : ScaledSource(factor), positions_(positions) {}
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

struct MmditCase : parts::GoldenCase {
  MmditCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor run(const Config& json, const SkippedLayers& skipped = {}) const {
    const MmditConfig c = MmditConfig::from(json);
    Weights w(std::make_shared<WithPositions>(fact("factor").get<float>(), fact("positions").get<float>()), *device);
    const Mmdit net(Scope(w), c);
    w.finish();
    const int64_t B = fact("batch"), H = fact("height"), W = fact("width"), L = fact("rows");
    return net(input("x", {B, H, W, c.in_channels}), fact("timesteps").get<std::vector<float>>(), input("context", {B, L, c.text_width}),
               input("pooled", {B, c.pooled_width}), skipped);
  }
};

void check(Backend& device, const char* name, double limit) {
  const MmditCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("y"), limit);
  c.expect_taps(recorder, limit);
}

// Observed: worst of the output and all taps. Those of large timesteps are the rounding of the sinusoid's angles in f32.
BACKEND_TEST(Mmdit, matches_reference_medium_with_a_cropped_table) {
  check(device, "medium", 1e-5);
}  // observed 2.3e-6 reference, 2.3e-6 cpu
BACKEND_TEST(Mmdit, matches_reference_with_dual_attention_and_norms) {
  check(device, "dual", 3e-6);
}  // observed 9.9e-8 reference, 5.9e-7 cpu
BACKEND_TEST(Mmdit, matches_reference_large_as_tall_as_the_table) {
  check(device, "large", 1e-5);
}  // observed 2.4e-6 reference, 2.4e-6 cpu
BACKEND_TEST(Mmdit, matches_reference_with_one_block_and_other_patches) {
  check(device, "unusual", 3e-6);
}  // observed 6.6e-8 reference, 5.7e-7 cpu
BACKEND_TEST(Mmdit, eps_of_each_norm) { check(device, "faint", 1e-6); }  // observed 8.1e-8 reference, 1.3e-7 cpu

// Changing each key alone gives the result of the reference.
BACKEND_TEST(Mmdit, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 1e-6;  // observed 9.3e-8 reference, 1.9e-7 cpu
  const MmditCase c("perturbed", device);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])), c.golden.values(fmt::format("y.{}", i++)), limit);
  }
}

// The last image of three skips blocks as in the reference's skip-layer guidance; the others are bit-identical to those of a run without.
BACKEND_TEST(Mmdit, images_that_skip_layers_are_those_of_the_reference) {
  constexpr double limit = 2e-6;  // observed 9.0e-8 reference, 3.5e-7 cpu
  const MmditCase c("skipped", device);
  const Tensor plain = c.run(c.config());
  EXPECT_CLOSE(plain, c.golden.values("plain"), limit);
  int i = 0;
  for (const auto& skips : c.fact("skips")) {
    SCOPED_TRACE(skips.dump());
    const auto layers = skips.get<std::vector<int64_t>>();
    const Tensor y = c.run(c.config(), {.layers = layers, .images = 1});
    const std::vector<float> golden = c.golden.values(fmt::format("y.{}", i++));
    EXPECT_CLOSE(y.slice(0, 2, 3).to_vector(), golden, limit);
    EXPECT_EQ(y.slice(0, 0, 2).to_vector(), plain.slice(0, 0, 2).to_vector());
    const std::vector<float> all = c.run(c.config(), {.layers = layers, .images = 3}).to_vector();
    EXPECT_CLOSE(std::vector(all.end() - std::ptrdiff_t(golden.size()), all.end()), golden, limit);
  }
}

// Rows do not affect each other.
BACKEND_TEST(Mmdit, an_image_alone_has_the_bits_of_a_batch) {
  const MmditCase c("medium", device);
  const MmditConfig config = MmditConfig::from(c.config());
  Weights w = c.weights();
  const Mmdit net(Scope(w), config);
  const Tensor x = c.input("x", {3, 6, 4, 4}), context = c.input("context", {3, 5, 20}), pooled = c.input("pooled", {3, 10});
  const std::vector<float> times{900, 500, 20};
  const Tensor all = net(x, times, context, pooled);
  for (int64_t b = 0; b < 3; ++b) {
    const Tensor one =
        net(x.slice(0, b, b + 1), std::span(times).subspan(size_t(b), 1), context.slice(0, b, b + 1), pooled.slice(0, b, b + 1));
    EXPECT_EQ(one.to_vector(), all.slice(0, b, b + 1).to_vector()) << b;
  }
}

TEST(MmditShapes, shapes_that_do_not_match_are_named) {
  const auto device = test::make_test_backend("reference");
  const MmditCase c("medium", *device);
  Weights w = c.weights();
  const Mmdit net(Scope(w), MmditConfig::from(c.config()));
  const auto refused = [&](const Shape& x, const Shape& context, const Shape& pooled, size_t times, const std::string& words) {
    const std::vector<float> timesteps(times, 1.0f);
    expect_error<ShapeError>(
        [&] { net(Tensor::zeros(*device, x), timesteps, Tensor::zeros(*device, context), Tensor::zeros(*device, pooled)); }, {words});
  };
  refused({1, 4, 4, 3}, {1, 2, 20}, {1, 10}, 1, "expected 4 channels");
  refused({1, 5, 4, 4}, {1, 2, 20}, {1, 10}, 1, "multiples of 2, at most 16 (the position table's)");
  refused({1, 4, 18, 4}, {1, 2, 20}, {1, 10}, 1, "multiples of 2, at most 16 (the position table's)");
  refused({1, 4, 4, 4}, {1, 2, 21}, {1, 10}, 1, "context is [1, 2, 21], expected [1, L, 20]");
  refused({2, 4, 4, 4}, {1, 2, 20}, {2, 10}, 1, "context is [1, 2, 20], expected [2, L, 20]");
  refused({1, 4, 4, 4}, {1, 2, 20}, {1, 9}, 1, "pooled is [1, 9], expected [1, 10]");
  refused({3, 4, 4, 4}, {3, 2, 20}, {3, 10}, 2, "2 timesteps, expected 1 or one for each of 3 images");
}

TEST(MmditConfig, published_configs_ask_for_exactly_the_published_tensors) {
  for (const auto& [name, tensors] : {std::pair{"sd3_medium", 683u}, {"sd35_medium", 909u}, {"sd35_large", 1227u}}) {
    SCOPED_TRACE(name);
    const parts::Structure s(__FILE__, name);
    const MmditConfig c = MmditConfig::from(s.config());
    EXPECT_EQ(s.json.at("tensors").size(), tensors);
    s.expect_same([&](const Scope& w) { return Mmdit(w, c); },
                  [&](const Mmdit& net, Backend& plan) {
                    const std::vector<float> timesteps{999};
                    const Tensor y = net(Tensor::empty(plan, {1, 32, 48, 16}), timesteps, Tensor::empty(plan, {1, 9, 4096}),
                                         Tensor::empty(plan, {1, 2048}));
                    EXPECT_EQ(y.shape(), (Shape{1, 32, 48, 16}));
                  });
  }
}

// For every key of the reference's config, its effect is proven above, or it is rejected here by name.
TEST(MmditConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const MmditCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{
      {"_class_name", "FluxTransformer2DModel"},
      {"qk_norm", "layer_norm"},
      {"pos_embed_max_size", nullptr},
      {"patch_size", nullptr},
      {"sample_size", nullptr},
      {"dual_attention_layers", nullptr},
      {"a_key_of_next_year", 1},
  };
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { MmditConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first, "config.json"});
  }
  // Sizes that the goldens vary together.
  std::set<std::string> looked_at{"_diffusers_version", "attention_head_dim", "num_attention_heads", "caption_projection_dim"};
  for (const auto& [key, value] : refused) looked_at.insert(key);
  for (const auto& change : c.fact("changes")) looked_at.insert(change["key"].get<std::string>());
  for (const auto& [key, value] : c.config_json.items()) EXPECT_TRUE(looked_at.contains(key)) << key << " is neither proven nor refused";
}

TEST(MmditConfig, contradictions_are_named) {
  const auto device = test::make_test_backend("reference");
  const MmditCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> wrong{
      {"caption_projection_dim", 12},  {"num_layers", 0},     {"dual_attention_layers", {0, 2}},
      {"dual_attention_layers", {-1}}, {"patch_size", "two"}, {"pos_embed_max_size", 0},
  };
  for (const auto& entry : wrong) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<WeightError>([&] { MmditConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first});
  }
}

TEST(MmditConfig, defaults_are_the_reference_s) { parts::expect_reference_defaults<MmditConfig>(__FILE__); }

}  // namespace
}  // namespace hearth::models::sd3
