#include "parts/autoencoder_tiny/autoencoder_tiny.h"

#include <set>

#include "parts/golden_case_test.h"

namespace hearth::parts {
namespace {

struct TinyCase : GoldenCase {
  TinyCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor image(const std::string& name, int64_t channels, float factor) const {
    const std::vector<int64_t> size = fact(name);
    return ops::linear_combination({input(name, {fact("batch"), size[0], size[1], channels})}, {factor});
  }

  struct Outputs {
    Tensor encoded, decoded;
  };
  Outputs run(const Config& json, const LoadOptions& options = {}) const {
    const AutoencoderTinyConfig c = AutoencoderTinyConfig::from(json);
    Weights w = weights(options);
    const AutoencoderTiny vae(Scope(w), c);
    w.finish();
    return {vae.to_model(vae.encode(image("picture", c.in_channels, 1)).mode()), vae.decode(image("latent", c.latent_channels, 6))};
  }
  void expect_outputs(const Outputs& y, const std::string& prefix, double limit) const {
    EXPECT_CLOSE(y.encoded, golden.values(prefix + "encoded"), limit);
    EXPECT_CLOSE(y.decoded, golden.values(prefix + "decoded"), limit);
  }
};

void check_tiny_vae(Backend& device, const char* name, double limit) {
  const TinyCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  c.expect_outputs(c.run(c.config()), "", limit);
  c.expect_taps(recorder, limit);
}

BACKEND_TEST(TinyVae, matches_reference_in_the_published_geometry) {
  check_tiny_vae(device, "taesd", 3e-6);
}  // observed 1.2e-7 reference, 1.4e-6 cpu
BACKEND_TEST(TinyVae, matches_reference_with_odd_sides_and_another_activation) {
  check_tiny_vae(device, "small", 3e-6);
}  // observed 1.5e-7 reference, 6.3e-7 cpu
BACKEND_TEST(TinyVae, matches_reference_with_sixteen_channels) {
  check_tiny_vae(device, "sixteen", 3e-6);
}  // observed 9.6e-8 reference, 1.1e-6 cpu
BACKEND_TEST(TinyVae, matches_reference_with_one_level) { check_tiny_vae(device, "flat", 2e-6); }  // observed 8.7e-8 reference, 2.6e-7 cpu

// Changing each key alone gives the result of the reference.
BACKEND_TEST(TinyVae, each_config_key_has_the_effect_of_the_reference) {
  const TinyCase c("perturbed", device);
  c.expect_outputs(c.run(c.config()), "base.", 3e-6);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    c.expect_outputs(c.run(c.config_with(change["key"], change["value"])), fmt::format("{}.", i++), 3e-6);
  }
}

BACKEND_TEST(TinyVae, tiles_are_the_reference_s) {
  const TinyCase c("tiled", device);
  Weights w = c.weights();
  const AutoencoderTiny vae(Scope(w), AutoencoderTinyConfig::from(c.config()));
  for (const char* name : {"grid", "column", "whole"}) {
    const std::vector<int64_t> size = c.fact(name);
    const Tensor latents = ops::linear_combination({c.input(name, {size[0], size[1], size[2], 4})}, {3});
    EXPECT_CLOSE(vae.decode_in_tiles(latents, 8), c.golden.values(name), 3e-6);  // observed 2.2e-7 reference, 5.2e-7 cpu
    const double deviation = test::relative_error(vae.decode(latents).to_vector(), c.golden.values(name));
    if (std::string_view(name) == "whole") EXPECT_LE(deviation, 3e-6);
    else EXPECT_GT(deviation, 1e-3);  // from the seams
  }
  for (const int64_t tile : {0, 4, 12}) {
    EXPECT_THROW(vae.decode_in_tiles(Tensor::zeros(device, {1, 8, 9, 4}), tile), UsageError);
    EXPECT_THROW(vae.encode_in_tiles(Tensor::zeros(device, {1, 64, 72, 3}), tile), UsageError);
  }
}

BACKEND_TEST(TinyVae, tiles_of_the_encoder_are_the_reference_s) {
  const TinyCase c("tiled_encode", device);
  Weights w = c.weights();
  const AutoencoderTiny vae(Scope(w), AutoencoderTinyConfig::from(c.config()));
  for (const char* name : {"grid", "row", "whole"}) {
    const std::vector<int64_t> size = c.fact(name);
    const Tensor image = c.input(name, {size[0], size[1], size[2], 3});
    EXPECT_CLOSE(vae.encode_in_tiles(image, 16).mean, c.golden.values(name), 3e-6);  // observed 1.7e-7 reference, 6.9e-7 cpu
    const double seams = test::relative_error(vae.encode(image).mean.to_vector(), c.golden.values(name));
    EXPECT_EQ(seams > 1e-3, std::string_view(name) != "whole") << seams;
  }
}

BACKEND_TEST(TinyVae, a_decoder_alone_decodes_the_same) {
  const TinyCase c("perturbed", device);
  const AutoencoderTinyConfig config = AutoencoderTinyConfig::from(c.config());
  Weights w = c.weights();
  const AutoencoderTiny vae(Scope(w), config, TinyHalves::decoder);
  EXPECT_CLOSE(vae.decode(c.image("latent", config.latent_channels, 6)), c.golden.values("base.decoded"), 3e-6);
  EXPECT_THROW(vae.encode(Tensor::zeros(device, {1, 8, 8, 3})), UnsupportedError);
}

TEST(TinyVaeConfig, tiles_are_512_pixels) {
  AutoencoderTinyConfig c;
  EXPECT_EQ(default_tile(c), 64);
  c.decoder_blocks = {1, 1};
  c.upsampling = 3;
  EXPECT_EQ(default_tile(c), 168);
}

TEST(TinyVaeConfig, published_config_asks_for_exactly_the_published_tensors) {
  const Structure s(__FILE__, "published");
  const AutoencoderTinyConfig c = AutoencoderTinyConfig::from(s.config());
  EXPECT_EQ(s.json.at("tensors").size(), 134u);
  EXPECT_EQ(c.factor(), 8);
  EXPECT_TRUE(c == AutoencoderTinyConfig());
  s.expect_same(
      [&](const Scope& w) { return AutoencoderTiny(w, c); },
      [](const AutoencoderTiny& vae, Backend& plan) {
        EXPECT_EQ(vae.decode(vae.to_model(vae.encode(Tensor::empty(plan, {1, 64, 64, 3})).mode())).shape(), (Shape{1, 64, 64, 3}));
      });
}

TEST(TinyVaeConfig, defaults_are_the_reference_s) { expect_reference_defaults<AutoencoderTinyConfig>(__FILE__); }

// For every key of the reference's config, its effect is proven above, or it is rejected here by name.
TEST(TinyVaeConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const TinyCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{
      {"_class_name", "AutoencoderKL"}, {"act_fn", "mish"},          {"latent_channels", nullptr},
      {"scaling_factor", nullptr},      {"upsample_fn", "bilinear"}, {"a_key_of_next_year", 1},
  };
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { AutoencoderTinyConfig::from(c.config_with(entry.first, entry.second)); },
                                   {entry.first, "config.json"});
  }
  std::set<std::string> looked_at{"_diffusers_version"};
  for (const auto& [key, value] : refused) looked_at.insert(key);
  for (const auto& change : c.fact("changes")) looked_at.insert(change["key"].get<std::string>());
  for (const auto& [key, value] : c.config_json.items()) EXPECT_TRUE(looked_at.contains(key)) << key << " is neither proven nor refused";
}

TEST(TinyVaeConfig, contradictions_are_named) {
  const auto device = test::make_test_backend("reference");
  const TinyCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> wrong{
      {"encoder_block_out_channels", {6, 8}},
      {"decoder_block_out_channels", {6, 6, 6}},
      {"num_decoder_blocks", {1, -1}},
      {"scaling_factor", 0},
      {"latent_channels", 0},
      {"upsampling_scaling_factor", 1000},
  };
  for (const auto& entry : wrong) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<WeightError>([&] { AutoencoderTinyConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first});
  }
}

BACKEND_TEST(TinyVae, inputs_that_do_not_fit_are_refused) {
  const TinyCase c("perturbed", device);
  Weights w = c.weights();
  const AutoencoderTiny vae(Scope(w), AutoencoderTinyConfig::from(c.config()));
  EXPECT_THROW(vae.encode(Tensor::zeros(device, {1, 8, 8, 4})), ShapeError);
  EXPECT_THROW(vae.decode(Tensor::zeros(device, {1, 8, 8, 3})), ShapeError);
  EXPECT_THROW(vae.decode(Tensor::zeros(device, {8, 8, 4})), ShapeError);
}

}  // namespace
}  // namespace hearth::parts
