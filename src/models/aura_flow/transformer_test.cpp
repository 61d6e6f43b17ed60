#include "models/aura_flow/transformer.h"

#include <set>

#include "parts/golden_case_test.h"

namespace hearth::models::aura_flow {
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

struct AuraCase : parts::GoldenCase {
  AuraCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor run(const Config& json) const {
    const TransformerConfig c = TransformerConfig::from(json);
    Weights w(std::make_shared<WithPositions>(fact("factor").get<float>(), fact("positions").get<float>()), *device);
    const Transformer net(Scope(w), c);
    w.finish();
    const int64_t B = fact("batch"), H = fact("height"), W = fact("width"), L = fact("rows");
    return net(input("x", {B, H, W, c.in_channels}), fact("timesteps").get<std::vector<float>>(), input("text", {B, L, c.text}));
  }
};

void check(Backend& device, const char* name, double limit) {
  const AuraCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("y"), limit);
  c.expect_taps(recorder, limit);
}

// Observed: worst of the output and all taps. Those of large timesteps are the rounding of the sinusoid's angles in f32.
BACKEND_TEST(AuraFlowTransformer, matches_reference_with_a_larger_table) {
  check(device, "wide", 1e-5);
}  // observed 4.0e-6 reference, 3.9e-6 cpu
BACKEND_TEST(AuraFlowTransformer, matches_reference_with_an_odd_table) {
  check(device, "tall", 1e-5);
}  // observed 3.7e-6 reference, 4.0e-6 cpu
BACKEND_TEST(AuraFlowTransformer, matches_reference_with_other_patches) { check(device, "unusual", 2e-5); }  // observed 5.4e-6 both
BACKEND_TEST(AuraFlowTransformer, eps_of_each_norm) { check(device, "faint", 1e-6); }  // observed 1.5e-7 reference, 1.7e-7 cpu

// Changing each key alone gives the result of the reference.
BACKEND_TEST(AuraFlowTransformer, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 3e-6;
  const AuraCase c("perturbed", device);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])), c.golden.values(fmt::format("y.{}", i++)), limit);
  }
}

// Rows do not affect each other.
BACKEND_TEST(AuraFlowTransformer, an_image_alone_has_the_bits_of_a_batch) {
  const AuraCase c("wide", device);
  Weights w = c.weights();
  const Transformer net(Scope(w), TransformerConfig::from(c.config()));
  const Tensor x = c.input("x", {3, 6, 4, 4}), text = c.input("text", {3, 5, 20});
  const std::vector<float> times{0.9f, 0.5f, 0.02f};
  const Tensor all = net(x, times, text);
  for (int64_t b = 0; b < 3; ++b) {
    const Tensor one = net(x.slice(0, b, b + 1), std::span(times).subspan(size_t(b), 1), text.slice(0, b, b + 1));
    EXPECT_EQ(one.to_vector(), all.slice(0, b, b + 1).to_vector()) << b;
  }
}

TEST(AuraFlowTransformerShapes, shapes_that_do_not_match_are_named) {
  const auto device = test::make_test_backend("reference");
  const AuraCase c("wide", *device);
  Weights w = c.weights();
  const Transformer net(Scope(w), TransformerConfig::from(c.config()));
  const auto refused = [&](const Shape& x, const Shape& text, size_t times, const std::string& words) {
    const std::vector<float> timesteps(times, 1.0f);
    expect_error<ShapeError>([&] { net(Tensor::zeros(*device, x), timesteps, Tensor::zeros(*device, text)); }, {words});
  };
  refused({1, 4, 4, 3}, {1, 2, 20}, 1, "expected 4 channels");
  refused({1, 5, 4, 4}, {1, 2, 20}, 1, "multiples of 2, at most 16 (the position table's)");
  refused({1, 4, 18, 4}, {1, 2, 20}, 1, "multiples of 2, at most 16 (the position table's)");
  refused({1, 4, 4, 4}, {1, 2, 21}, 1, "the text is [1, 2, 21], expected [1, L, 20]");
  refused({2, 4, 4, 4}, {1, 2, 20}, 1, "the text is [1, 2, 20], expected [2, L, 20]");
  refused({3, 4, 4, 4}, {3, 2, 20}, 2, "2 timesteps, expected 1 or one for each of 3 images");
}

TEST(AuraFlowTransformerConfig, published_configs_ask_for_exactly_the_published_tensors) {
  for (const char* name : {"aura_01", "aura_02"}) {
    SCOPED_TRACE(name);
    const parts::Structure s(__FILE__, name);
    const TransformerConfig c = TransformerConfig::from(s.config());
    EXPECT_EQ(c.mlp_width(), 8192);
    EXPECT_EQ(c.side(), name == std::string("aura_01") ? 64 : 96);
    s.expect_same([&](const Scope& w) { return Transformer(w, c); },
                  [&](const Transformer& net, Backend& plan) {
                    const std::vector<float> timesteps{1};
                    const Tensor y = net(Tensor::empty(plan, {1, 32, 48, 4}), timesteps, Tensor::empty(plan, {1, 9, 2048}));
                    EXPECT_EQ(y.shape(), (Shape{1, 32, 48, 4}));
                  });
  }
}

// For every key of the reference's config, its effect is proven above, or it is rejected here by name.
TEST(AuraFlowTransformerConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const AuraCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{
      {"_class_name", "SD3Transformer2DModel"}, {"pos_embed_max_size", nullptr}, {"patch_size", nullptr}, {"a_key_of_next_year", 1}};
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { TransformerConfig::from(c.config_with(entry.first, entry.second)); },
                                   {entry.first, "config.json"});
  }
  // Sizes that the goldens vary together.
  std::set<std::string> looked_at{"_diffusers_version", "attention_head_dim", "num_attention_heads", "caption_projection_dim"};
  for (const auto& [key, value] : refused) looked_at.insert(key);
  for (const auto& change : c.fact("changes")) looked_at.insert(change["key"].get<std::string>());
  for (const auto& [key, value] : c.config_json.items()) EXPECT_TRUE(looked_at.contains(key)) << key << " is neither proven nor refused";
}

TEST(AuraFlowTransformerConfig, contradictions_are_named) {
  const auto device = test::make_test_backend("reference");
  const AuraCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> wrong{
      {"caption_projection_dim", 12}, {"num_mmdit_layers", 0}, {"patch_size", "two"}, {"pos_embed_max_size", 63}};
  for (const auto& entry : wrong) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<WeightError>([&] { TransformerConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first});
  }
}

TEST(AuraFlowTransformerConfig, defaults_are_the_reference_s) { parts::expect_reference_defaults<TransformerConfig>(__FILE__); }

}  // namespace
}  // namespace hearth::models::aura_flow
