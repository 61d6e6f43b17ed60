#include "models/z_image/controlnet.h"

#include <map>

#include "parts/golden_case_test.h"
#include "weights/layout/name_map.h"

namespace hearth::models::z_image {
namespace {

using parts::expect_error;

// A golden of golden/make_controlnet.py, run with its own config or with a changed one.
struct ControlCase : parts::GoldenCase {
  ControlCase(const std::string& name, Backend& backend)
      : GoldenCase(__FILE__, name, backend),
        model(TransformerConfig::from(Config::parse(fact("model").dump(), "transformer/config.json"))),
        times(fact("times").get<std::vector<float>>()) {}

  Tensor latents(const std::string& name, int64_t channels) const {
    return input(name, {std::ssize(times), fact("size")[0].get<int64_t>(), fact("size")[1].get<int64_t>(), channels});
  }
  Tensor x() const { return latents("x", model.channels); }
  Tensor text() const { return input("text", {std::ssize(times), fact("lengths")[0].get<int64_t>(), model.text}); }
  AddedAfterLayers run(const Config& json) const {
    const ControlNetConfig c = ControlNetConfig::from(json, model);
    Weights w = weights();
    const ControlNet net(Scope(w), c);
    w.finish();
    return net(x(), times, text(), net.hint(latents("control", c.channels)), fact("scale").get<float>());
  }
  // What the reference adds, which it has scaled.
  void expect_added(const AddedAfterLayers& made, double limit) const {
    for (const auto& [layer, y] : made)
      EXPECT_CLOSE(ops::scaled(y, fact("scale").get<float>(), 0), golden.values(fmt::format("y.{}", layer)), limit);
  }

  TransformerConfig model;
  std::vector<float> times;
};

BACKEND_TEST(ZImageControlNet, matches_reference) {
  constexpr double limit = 2e-5;  // observed 2.3e-6
  for (const char* name : {"controlnet_v1", "controlnet_v20", "controlnet_v21", "controlnet_faint"}) {
    SCOPED_TRACE(name);
    const ControlCase c(name, device);
    test::TapRecorder recorder;
    const ObserverScope scope(recorder);
    const AddedAfterLayers made = c.run(c.config());
    EXPECT_EQ(made.size(), c.config_json.at("control_layers_places").size());
    c.expect_added(made, limit);
    c.expect_taps(recorder, limit);
  }
}

BACKEND_TEST(ZImageControlNet, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 1e-5;  // observed 1.5e-6
  const ControlCase c("controlnet_perturbed", device);
  const auto last = [&](const AddedAfterLayers& made) { return ops::scaled(made.rbegin()->second, c.fact("scale").get<float>(), 0); };
  EXPECT_CLOSE(ops::scaled(c.run(c.config()).at(0), c.fact("scale").get<float>(), 0), c.golden.values("base"), limit);
  c.expect_effects_of_keys([&](const Config& json) { return last(c.run(json)); }, limit);
}

BACKEND_TEST(ZImageControlNet, the_transformer_adds_it_after_its_layers) {
  const ControlCase c("controlnet_added", device);
  Weights w = c.weights();
  const Transformer net(Scope(w), c.model);
  AddedAfterLayers added;
  for (const int64_t layer : {1, 3}) added.emplace(layer, c.input(fmt::format("added.{}", layer), {2, 64, 24}));
  EXPECT_CLOSE(net(c.x(), c.times, c.text(), added), c.golden.values("y"), 3e-5);  // observed 3.4e-6
}

BACKEND_TEST(ZImageControlNet, a_hint_is_repeated_for_the_batch) {
  const ControlCase c("controlnet_v1", device);
  const ControlNetConfig config = ControlNetConfig::from(c.config(), c.model);
  Weights w = c.weights();
  const ControlNet net(Scope(w), config);
  const Tensor hint = net.hint(c.latents("control", config.channels).slice(0, 0, 1));
  const AddedAfterLayers one = net(c.x(), c.times, c.text(), hint, 1), two = net(c.x(), c.times, c.text(), ops::repeat_batch(hint, 2), 1);
  for (const auto& [layer, y] : one) EXPECT_EQ(y.to_vector(), two.at(layer).to_vector());
  expect_error<ShapeError>([&] { net(c.x(), c.times, c.text(), ops::contiguous(hint.slice(1, 0, 3)), 1); },
                           {"the hint is [1, 3, 24], expected [2, 32, 24]"});
}

TEST(ZImageControlNetConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const ControlCase c("controlnet_perturbed", *device);
  const auto read = [&](const Config& json) { ControlNetConfig::from(json, c.model); };
  const std::map<std::string, nlohmann::json> refused{
      {"_class_name", "ZImageTransformer2DModel"}, {"all_patch_size", {4}},  {"all_f_patch_size", {2}}, {"n_kv_heads", 1},
      {"add_control_noise_refiner", "both"},       {"a_key_of_next_year", 1}};
  c.expect_refused<UnsupportedError>(refused, "config.json", read);
  c.expect_no_other_key({"_diffusers_version", "dim", "n_heads"}, refused);
  for (const auto& [key, value, words] : std::vector<std::tuple<std::string, nlohmann::json, std::string>>{
           {"dim", 48, "is for a transformer with width 48 in 2 heads; the model's has width 24 in 2 heads"},
           {"control_in_dim", 5, "sees 5 channels; the model's latents have 4, expected those, or with a mask and an image 9"},
           {"control_layers_places", {1, 2}, "begins with 1, expected 0"},
           {"control_layers_places", {0, 4}, "contains 4, expected rising numbers from 0 to 3"},
           {"control_layers_places", {0, 2, 1}, "contains 1"},
           {"control_refiner_layers_places", {0, 2}, "'control_refiner_layers_places' contains 2"}})
    expect_error<WeightError>([&, &key = key, &value = value] { read(c.config_with(key, value)); }, {words});
  expect_error<WeightError>([&] { ControlNetConfig::from(Config::parse(R"({"control_in_dim": 4})", "config.json"), c.model); },
                            {"lacks 'control_layers_places'"});
}

// Tensors without a config.json: `values` of the projection by which versions 2.0 and 2.1 differ.
struct Listed : TensorSource {
  explicit Listed(TensorList tensors) : all(std::move(tensors)) {}
  std::string describe() const override { return "listed"; }
  std::map<std::string, TensorInfo> list() const override { return all; }
  bool has(const std::string& name) const override { return all.contains(name); }
  Tensor read(const std::string&, const Shape& wanted, Backend& backend) override { return Tensor::empty(backend, wanted); }
  std::span<const std::byte> stored_bytes(const std::string&) const override { return values; }

  TensorList all;
  std::vector<std::byte> values;
};

TEST(ZImageControlNetConfig, published_networks_are_recognized_by_their_tensors) {
  for (const char* name : {"controlnet_v1_full", "controlnet_v20_full", "controlnet_v21_full"}) {
    SCOPED_TRACE(name);
    const parts::Structure s(__FILE__, name);
    const ControlNetConfig c = ControlNetConfig::from(s.config(), {});
    s.expect_same([&](const Scope& w) { return ControlNet(w, c); },
                  [&](const ControlNet& net, Backend& plan) {
                    const std::vector<float> times{0.5f};
                    const AddedAfterLayers made = net(Tensor::empty(plan, {1, 16, 16, 16}), times, Tensor::empty(plan, {1, 32, 2560}),
                                                      net.hint(Tensor::empty(plan, {1, 16, 16, c.channels})), 1);
                    EXPECT_EQ(made.size(), c.places.size());
                    EXPECT_EQ(made.at(0).shape(), (Shape{1, 96, 3840}));
                  });
    Listed file(s.tensors());
    std::erase_if(file.all, [](const auto& tensor) { return !tensor.first.starts_with("control_"); });
    for (auto& [tensor, info] : file.all) info.dtype = DType::f16;
    const std::string before = "control_noise_refiner.0.before_proj.weight";
    if (c.refiner == ControlRefiner::control_layers) {  // published with a refiner that is not used
      file.all["control_noise_refiner.0.attention_norm1.weight"] =
          file.all["control_noise_refiner.1.attention_norm1.weight"] = {.dtype = DType::f16, .shape = Shape{3840}};
      file.all[before] = {.dtype = DType::f16, .shape = Shape{1, 3}};
      file.values.resize(6);
    } else if (c.refiner == ControlRefiner::control_blocks) {
      file.all[before].shape = Shape{1, 3};
      file.values = {std::byte(0), std::byte(0), std::byte(0), std::byte(0), std::byte(1), std::byte(0)};
    }
    EXPECT_TRUE(ControlNetConfig::of_tensors(file, {}) == c);
    file.all.erase(before);
    if (c.refiner == ControlRefiner::control_layers) { EXPECT_TRUE(ControlNetConfig::of_tensors(file, {}) == c); }
    file.all["control_layers.6.attention_norm1.weight"] =
        file.all["control_layers.15.attention_norm1.weight"] = {.dtype = DType::f16, .shape = Shape{3840}};
    expect_error<WeightError>([&] { ControlNetConfig::of_tensors(file, {}); },
                              {"expected a number that divides the 30 of the transformer"});
  }
}

}  // namespace
}  // namespace hearth::models::z_image
