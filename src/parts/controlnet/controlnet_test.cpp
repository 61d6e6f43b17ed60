#include "parts/controlnet/controlnet.h"

#include <cmath>
#include <fstream>

#include "parts/controlnet/files.h"
#include "parts/golden_case_test.h"
#include "support/complaint.h"

namespace hearth::parts {
namespace {

// A golden of golden/make.py, run with its own config or with a changed one.
struct ControlCase : GoldenCase {
  ControlCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  int64_t batch() const { return fact("batch"); }
  Tensor x(const UnetConfig& c) const { return input("x", {batch(), fact("height"), fact("width"), c.in_channels}); }
  std::vector<float> timesteps() const { return fact("timesteps").get<std::vector<float>>(); }
  UnetConditions conditions(const UnetConfig& c) const {
    UnetConditions given{.context = c.context ? input("context", {batch(), fact("tokens"), c.context}) : Tensor()};
    std::vector<Tensor> added;
    for (int64_t b = 0; b < batch() && c.added; ++b) {
      const auto sizes = fact("sizes")[size_t(b)].get<std::vector<float>>();
      const Tensor pooled = input("pooled", {batch(), c.pooled_width(int64_t(sizes.size()))});
      added.push_back(pooled_and_sizes(c, pooled.slice(0, b, b + 1), sizes));
    }
    if (c.added) given.added = ops::concat(added, 0);
    return given;
  }
  std::vector<ControlImage> images(const ControlNetConfig& c) const {
    const Shape shape{1, fact("height").get<int64_t>() * c.factor(), fact("width").get<int64_t>() * c.factor(), 3};
    std::vector<ControlImage> all;
    const auto types = facts.value("types", std::vector<int64_t>{0});
    for (size_t k = 0; k < types.size(); ++k) {
      std::vector<float> values = test::test_values(fmt::format("input.image{}", k), shape.numel());
      for (float& v : values) v = std::abs(v);
      all.push_back({Tensor::from(*device, shape, values), types[k], facts.value("weights", std::vector<float>{1, 1})[k]});
    }
    return all;
  }
  ControlNet::Residuals run(const Config& json, const LoadOptions& options = {}) const {
    const ControlNetConfig c = ControlNetConfig::from(json);
    Weights w = weights(options);
    const ControlNet net(Scope(w), c);
    w.finish();
    return net(x(c.unet), timesteps(), conditions(c.unet), net.hint(images(c)));
  }
};

// Observed: 1.5e-7 to 8e-7 reference, at most 3.4e-6 cpu.
constexpr double limit = 1e-5;

BACKEND_TEST(ControlNet, matches_reference) {
  for (const char* name : {"sd1", "sd2", "pools", "xl", "small", "union", "union_two"}) {
    SCOPED_TRACE(name);
    const ControlCase c(name, device);
    test::TapRecorder recorder;
    const ObserverScope scope(recorder);
    const ControlNet::Residuals made = c.run(c.config());
    std::vector<Tensor> all = made.skips;
    all.push_back(made.mid);
    const auto factors = control_factors(made.skips.size(), 0.6, name != std::string_view("pools"));
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_CLOSE(all[i], c.golden.values(fmt::format("residual.{}", i)), limit);
      if (name == std::string_view("union_two")) continue;
      EXPECT_CLOSE(ops::linear_combination({all[i]}, {factors[i]}), c.golden.values(fmt::format("guessed.{}", i)), limit);
    }
    c.expect_taps(recorder, limit);
  }
}

BACKEND_TEST(ControlNet, a_unet_adds_the_residuals_where_the_reference_does) {
  for (const char* name : {"sd1", "pools", "xl"}) {
    SCOPED_TRACE(name);
    const ControlCase c(name, device);
    const ControlNet::Residuals made = c.run(c.config());
    const UnetConfig config = UnetConfig::from(Config::parse(c.fact("unet").dump(), "unet"));
    Weights w = c.weights();
    const Unet unet(Scope(w), config);
    const auto run = [&](const UnetResiduals& residuals) { return unet(c.x(config), c.timesteps(), c.conditions(config), {}, residuals); };
    EXPECT_CLOSE(run({.skips = made.skips, .mid = made.mid, .features = {}}), c.golden.values("y"), limit);
    EXPECT_GE(test::relative_error(run({}).to_vector(), c.golden.values("y")), 1e-3);
    UnetResiduals fewer{.skips = made.skips, .mid = {}, .features = {}};
    fewer.skips.pop_back();
    EXPECT_NE(test::complaint_of([&] { run(fewer); }).find("expected one for each of"), std::string::npos);
    fewer.skips.push_back(made.mid.slice(3, 0, 1));
    EXPECT_THROW(run(fewer), ShapeError);
  }
}

BACKEND_TEST(ControlNet, each_config_key_has_the_effect_of_the_reference) {
  const ControlCase c("perturbed", device);
  EXPECT_CLOSE(c.run(c.config()).mid, c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])).mid, c.golden.values(fmt::format("y.{}", i++)), limit);
  }
}

TEST(ControlNetConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const ControlCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{
      {"_class_name", "UNet2DConditionModel"},
      {"conditioning_channels", 1},
      {"conditioning_embedding_out_channels", nlohmann::json::array()},
      {"conditioning_embedding_out_channels", nullptr},
      {"controlnet_conditioning_channel_order", "gbr"},
      {"addition_embed_type", "text"},
      {"class_embed_type", "timestep"},
      {"encoder_hid_dim", 64},
      {"encoder_hid_dim_type", "text_proj"},
      {"num_class_embeds", 4},
      {"resnet_time_scale_shift", "scale_shift"},
      {"down_block_types", {"AttnDownBlock2D", "DownBlock2D"}},
      {"center_input_sample", true},  // the UNet's, not the ControlNet's
      {"unheard_of", 1},
  };
  for (const auto& [key, value] : refused) {
    const std::string message = test::complaint_of([&] { ControlNetConfig::from(c.config_with(key, value)); });
    EXPECT_NE(message.find(key), std::string::npos) << key << ": " << message;
  }
  std::set<std::string> seen;
  for (const auto& change : c.fact("changes")) seen.insert(change["key"]);
  for (const auto& [key, value] : refused) seen.insert(key);
  seen.insert({"in_channels", "block_out_channels", "cross_attention_dim"});  // sizes, which all goldens vary
  const auto defaults = nlohmann::json::parse(Structure::read(test::folder_of(__FILE__) / "golden/defaults.json"));
  for (const auto& [key, value] : defaults.items()) EXPECT_TRUE(key[0] == '_' || seen.contains(key)) << key;
}

TEST(ControlNetConfig, a_network_for_another_unet_is_refused) {
  const auto device = test::make_test_backend("reference");
  const ControlCase one("sd1", *device), other("xl", *device);
  const UnetConfig base = UnetConfig::from(Config::parse(one.fact("unet").dump(), "unet"));
  require_same_half(ControlNetConfig::from(one.config()), base, "a.safetensors");
  const std::string message = test::complaint_of([&] { require_same_half(ControlNetConfig::from(other.config()), base, "a.safetensors"); });
  EXPECT_EQ(
      message,
      "WeightError: a.safetensors: is for a UNet with channels 8, 16, 16 in 2, 2, 2 layers, text states of width 24, an added embedding "
      "of width 46, 4 latent channels; the model's UNet has channels 8, 16, 24 in 2, 2, 2 layers, text states of width 12, 4 latent "
      "channels");
}

// The configuration of a file that comes without one is that of the reference's folder.
TEST(ControlNetConfig, tensors_and_the_unet_give_the_stated_configuration) {
  const auto device = test::make_test_backend("reference");
  for (const char* name : {"sd1", "xl", "small", "union"}) {
    SCOPED_TRACE(name);
    const ControlCase c(name, *device);
    ControlNetConfig stated = ControlNetConfig::from(c.config());
    TensorList tensors;
    struct Listing : TensorSource {  // every tensor that the network requests
      explicit Listing(TensorList& list) : all(list) {}
      std::string describe() const override { return "listing"; }
      TensorList list() const override { return {}; }
      bool has(const std::string&) const override { return true; }
      Tensor read(const std::string& n, const Shape& wanted, Backend& b) override {
        all[n] = {.dtype = DType::f32, .shape = wanted};
        return Tensor::empty(b, wanted);
      }
      TensorList& all;
    };
    Weights w(std::make_shared<Listing>(tensors), *device);
    const ControlNet net(Scope(w), stated);
    UnetConfig base = stated.unet;
    for (UnetConfig::Level& level : base.levels) level.depths_down.assign(size_t(level.layers), 7), level.attends_down = true;
    base.mid_depth = 5;
    ControlNetConfig found = ControlNetConfig::of_tensors(tensors, base);
    if (stated.unified) stated.unified->heads = found.unified->heads;  // which have no effect
    if (stated.unet.mid != UnetConfig::Mid::cross_attention) stated.unet.mid_depth = found.unet.mid_depth;
    if (name == std::string_view("small"))
      found.unet.linear_projection = stated.unet.linear_projection, found.unet.context = stated.unet.context;
    EXPECT_TRUE(found == stated);
  }
}

TEST(ControlNetFiles, names_of_the_authors_are_those_of_the_converter) {
  const auto json = nlohmann::json::parse(Structure::read(test::folder_of(__FILE__) / "golden/names.json"));
  const std::string prefix = "control_model.";
  TensorList stored;
  for (const auto& [name, official] : json.at("names").items()) {
    ASSERT_TRUE(name.starts_with(prefix));
    stored[name.substr(prefix.size())] = {.dtype = DType::f32,
                                          .shape = Shape(json.at("shapes").at(official.get<std::string>()).get<std::vector<int64_t>>())};
  }
  const NameMap map = controlnet_files.spellings[0].reading(stored, {});
  for (const auto& [name, official] : json.at("names").items()) {
    const auto renamed = to_official(name.substr(prefix.size()), map);
    ASSERT_EQ(renamed.size(), 1u) << name;
    EXPECT_EQ(renamed[0].name, official);
  }
}

}  // namespace
}  // namespace hearth::parts
