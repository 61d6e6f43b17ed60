#include "parts/clip_vision/clip_vision.h"

#include "parts/clip_vision/files.h"
#include "parts/golden_case_test.h"

namespace hearth::parts {
namespace {

struct ClipVisionCase : GoldenCase {
  ClipVisionCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  ClipVisionOutput run(const Config& json) const {
    const ClipVisionConfig c = ClipVisionConfig::from(json);
    Weights w = weights();
    const ClipVisionModel tower(Scope(w), c);
    w.finish();
    return tower(input("image", {fact("batch"), c.image_size, c.image_size, c.channels}));
  }
  void expect(const ClipVisionOutput& out, const std::string& prefix, double limit) const {
    EXPECT_CLOSE(out.image_embeds, golden.values(prefix + "embeds"), limit);
    EXPECT_CLOSE(out.penultimate, golden.values(prefix + "penultimate"), limit);
  }
};

void check_clip_vision(Backend& device, const char* name, double limit) {
  const ClipVisionCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  c.expect(c.run(c.config()), "", limit);
  c.expect_taps(recorder, limit);
}

BACKEND_TEST(ClipVision, matches_reference) { check_clip_vision(device, "small", 1e-6); }
BACKEND_TEST(ClipVision, matches_reference_with_pixels_that_no_patch_covers) { check_clip_vision(device, "rest", 1e-6); }
BACKEND_TEST(ClipVision, matches_reference_with_one_patch) { check_clip_vision(device, "one", 1e-6); }
BACKEND_TEST(ClipVision, eps_of_each_norm) { check_clip_vision(device, "faint", 1e-6); }

// Changing each key alone gives the result of the reference.
BACKEND_TEST(ClipVision, each_config_key_has_the_effect_of_the_reference) {
  const ClipVisionCase c("perturbed", device);
  c.expect(c.run(c.config()), "base.", 2e-6);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    c.expect(c.run(c.config_with(change["key"], change["value"])), fmt::format("{}.", i++), 2e-6);
  }
}

BACKEND_TEST(ClipVision, an_image_of_another_size_is_refused) {
  const ClipVisionCase c("small", device);
  Weights w = c.weights();
  const ClipVisionModel tower(Scope(w), ClipVisionConfig::from(c.config()));
  EXPECT_THROW(tower(Tensor::zeros(device, {1, 20, 24, 3})), ShapeError);
  EXPECT_THROW(tower(Tensor::zeros(device, {1, 20, 20, 4})), ShapeError);
  EXPECT_THROW(tower(Tensor::zeros(device, {20, 20, 3})), ShapeError);
}

TEST(ClipVisionConfig, published_configs_ask_for_exactly_the_published_tensors) {
  for (const char* name : {"vit_h", "vit_bigg"}) {
    const Structure s(__FILE__, name);
    const ClipVisionConfig c = ClipVisionConfig::from(s.config());
    s.expect_same([&](const Scope& w) { return ClipVisionModel(w, c); },
                  [&](const ClipVisionModel& tower, Backend& plan) {
                    const ClipVisionOutput out = tower(Tensor::empty(plan, {1, 224, 224, 3}));
                    EXPECT_EQ(out.image_embeds.shape(), (Shape{1, c.projection}));
                    EXPECT_EQ(out.penultimate.shape(), (Shape{1, 257, c.width}));
                  });
  }
}

TEST(ClipVisionConfig, defaults_are_the_reference_s) { expect_reference_defaults<ClipVisionConfig>(__FILE__); }

// The whole model's config.json, as in its publisher's folder: the projection is the model's own.
TEST(ClipVisionConfig, reads_the_vision_tower_of_a_whole_model) {
  const std::string whole = Structure::read(test::folder_of(__FILE__) / "golden/whole.json");
  const ClipVisionConfig c = ClipVisionConfig::from(Config::parse(whole, "config.json"));
  EXPECT_EQ(c.width, 24);
  EXPECT_EQ(c.tokens(), 17);
  EXPECT_EQ(c.projection, 9);
  nlohmann::json changed = nlohmann::json::parse(whole);
  changed["vision_config"]["a_key_of_next_year"] = 1;
  expect_error<UnsupportedError>([&] { ClipVisionConfig::from(Config::parse(changed.dump(), "config.json")); }, {"a_key_of_next_year"});
}

TEST(ClipVisionConfig, of_files_that_come_without_one) {
  for (const char* name : {"vit_h", "vit_bigg"}) {
    const Structure s(__FILE__, name);
    TensorList tower;
    for (const auto& [tensor, shape] : s.json.at("tensors").items())
      tower[tensor] = {DType::f32, Shape(shape.get<std::vector<int64_t>>()), {}};
    EXPECT_TRUE(ClipVisionConfig::from(Config::parse(clip_vision_files.standard_config(tower).value(), "standard")) ==
                ClipVisionConfig::from(s.config()));
    TensorList without = tower, other = tower;
    without.erase("visual_projection.weight");
    EXPECT_EQ(ClipVisionConfig::from(Config::parse(clip_vision_files.standard_config(without).value(), "standard")).projection, 0);
    other["vision_model.embeddings.position_embedding.weight"].shape[0] = 577;
    EXPECT_FALSE(clip_vision_files.standard_config(other));
  }
}

// For every key of the reference's config, its effect is proven above, or it is rejected here by name.
TEST(ClipVisionConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const ClipVisionCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{
      {"model_type", "siglip_vision_model"},
      {"hidden_act", "gelu_of_next_year"},
      {"hidden_size", nullptr},
      {"cross_attention_hidden_size", 4},
      {"add_cross_attention", true},
      {"architectures", {"CLIPTextModel"}},
      {"a_key_of_next_year", 1},
  };
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { ClipVisionConfig::from(c.config_with(entry.first, entry.second)); },
                                   {entry.first == "architectures" ? "CLIPTextModel" : entry.first, "config.json"});
  }
  const std::vector<std::pair<std::string, nlohmann::json>> wrong{
      {"num_attention_heads", 5}, {"patch_size", 9}, {"num_hidden_layers", 0}, {"image_size", "big"}};
  for (const auto& entry : wrong)
    expect_error<WeightError>([&] { ClipVisionConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first});
  EXPECT_EQ(ClipVisionConfig::from(c.config_with("architectures", {"CLIPVisionModel"})).projection, 0);
}

}  // namespace
}  // namespace hearth::parts
