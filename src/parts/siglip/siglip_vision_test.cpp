#include "parts/siglip/siglip_vision.h"

#include <set>

#include "parts/golden_case_test.h"
#include "parts/siglip/files.h"

namespace hearth::parts {
namespace {

struct SiglipCase : GoldenCase {
  SiglipCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor run(const Config& json) const {
    const SiglipVisionConfig c = SiglipVisionConfig::from(json);
    Weights w = weights();
    const SiglipVisionModel tower(Scope(w), c);
    w.finish();
    return tower(input("image", {fact("batch"), c.image_size, c.image_size, c.channels}));
  }
};

void check_siglip(Backend& device, const char* name, double limit) {
  const SiglipCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("states"), limit);
  c.expect_taps(recorder, limit);
}

BACKEND_TEST(Siglip, matches_reference) { check_siglip(device, "small", 1e-6); }  // observed 9.7e-8 reference, 3.1e-7 cpu
BACKEND_TEST(Siglip, matches_reference_with_pixels_that_no_patch_covers) {
  check_siglip(device, "rest", 1e-6);
}  // observed 1.1e-7 reference, 2.9e-7 cpu
BACKEND_TEST(Siglip, matches_reference_with_one_patch) { check_siglip(device, "one", 1e-6); }  // observed 6.7e-8 reference, 1.8e-7 cpu
BACKEND_TEST(Siglip, eps_of_each_norm) { check_siglip(device, "faint", 1e-6); }                // observed 7.3e-8 reference, 1.8e-7 cpu

// Changing each key alone gives the result of the reference.
BACKEND_TEST(Siglip, each_config_key_has_the_effect_of_the_reference) {
  const SiglipCase c("perturbed", device);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("base.states"), 2e-6);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])), c.golden.values(fmt::format("{}.states", i++)),
                 2e-6);  // observed 2.3e-7 reference, 5.6e-7 cpu
  }
}

BACKEND_TEST(Siglip, an_image_of_another_size_is_refused) {
  const SiglipCase c("small", device);
  Weights w = c.weights();
  const SiglipVisionModel tower(Scope(w), SiglipVisionConfig::from(c.config()));
  EXPECT_THROW(tower(Tensor::zeros(device, {1, 20, 24, 3})), ShapeError);
  EXPECT_THROW(tower(Tensor::zeros(device, {1, 20, 20, 4})), ShapeError);
  EXPECT_THROW(tower(Tensor::zeros(device, {20, 20, 3})), ShapeError);
}

BACKEND_TEST(Redux, matches_reference) {
  const SiglipCase c("redux", device);
  Weights w = c.weights();
  const ReduxImageEncoder redux(Scope(w), ReduxConfig::from(c.config()));
  w.finish();
  EXPECT_CLOSE(redux(c.input("states", {2, 5, 10})), c.golden.values("rows"), 5e-7);  // observed 3.2e-8 reference, 1.0e-7 cpu
}

TEST(SiglipConfig, published_config_asks_for_exactly_the_published_tensors) {
  const Structure s(__FILE__, "so400m");
  const SiglipVisionConfig c = SiglipVisionConfig::from(s.config());
  s.expect_same([&](const Scope& w) { return SiglipVisionModel(w, c); },
                [](const SiglipVisionModel& tower, Backend& plan) {
                  EXPECT_EQ(tower(Tensor::empty(plan, {1, 384, 384, 3})).shape(), (Shape{1, 729, 1152}));
                });
  const Structure r(__FILE__, "redux");
  r.expect_same([&](const Scope& w) { return ReduxImageEncoder(w, ReduxConfig::from(r.config())); },
                [](const ReduxImageEncoder& redux, Backend& plan) {
                  EXPECT_EQ(redux(Tensor::empty(plan, {1, 729, 1152})).shape(), (Shape{1, 729, 4096}));
                });
}

TEST(SiglipConfig, defaults_are_the_reference_s) {
  expect_reference_defaults<SiglipVisionConfig>(__FILE__);
  EXPECT_TRUE(ReduxConfig::from(Config::parse("{}", "empty")) == ReduxConfig::from(Structure(__FILE__, "redux").config()));
}

// The whole model's config.json, as in its publisher's folder.
TEST(SiglipConfig, reads_the_vision_tower_of_a_whole_model) {
  const std::string whole = Structure::read(test::folder_of(__FILE__) / "golden/whole.json");
  const SiglipVisionConfig c = SiglipVisionConfig::from(Config::parse(whole, "config.json"));
  EXPECT_EQ(c.width, 24);
  EXPECT_EQ(c.tokens(), 16);
  nlohmann::json changed = nlohmann::json::parse(whole);
  changed["vision_config"]["a_key_of_next_year"] = 1;
  expect_error<UnsupportedError>([&] { SiglipVisionConfig::from(Config::parse(changed.dump(), "config.json")); }, {"a_key_of_next_year"});
}

// A file without a configuration: the published tower and the embedder are known by their tensors.
TEST(SiglipConfig, of_files_that_come_without_one) {
  const auto list = [](const Structure& s) {
    TensorList all;
    for (const auto& [name, shape] : s.json.at("tensors").items()) all[name] = {DType::f32, Shape(shape.get<std::vector<int64_t>>()), {}};
    return all;
  };
  const Structure s(__FILE__, "so400m"), r(__FILE__, "redux");
  TensorList tower = list(s);
  EXPECT_TRUE(SiglipVisionConfig::from(Config::parse(siglip_vision_files.standard_config(tower).value(), "standard")) ==
              SiglipVisionConfig::from(s.config()));
  tower["vision_model.embeddings.position_embedding.weight"].shape = {256, 1152};
  EXPECT_FALSE(siglip_vision_files.standard_config(tower));
  EXPECT_TRUE(ReduxConfig::from(Config::parse(redux_files.standard_config(list(r)).value(), "standard")) == ReduxConfig::from(r.config()));
}

// For every key of the reference's config, its effect is proven above, or it is rejected here by name.
TEST(SiglipConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const SiglipCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{
      {"model_type", "clip_vision_model"}, {"hidden_act", "gelu_of_next_year"}, {"hidden_size", nullptr},
      {"cross_attention_hidden_size", 4},  {"add_cross_attention", true},       {"a_key_of_next_year", 1},
  };
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { SiglipVisionConfig::from(c.config_with(entry.first, entry.second)); },
                                   {entry.first, "config.json"});
  }
  const std::vector<std::pair<std::string, nlohmann::json>> wrong{
      {"num_attention_heads", 5}, {"patch_size", 9}, {"num_hidden_layers", 0}, {"image_size", "big"}};
  for (const auto& entry : wrong)
    expect_error<WeightError>([&] { SiglipVisionConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first});
}

}  // namespace
}  // namespace hearth::parts
