#include "parts/autoencoder_kl/autoencoder_kl.h"

#include <set>
#include <type_traits>

#include "parts/autoencoder_kl/files.h"
#include "parts/golden_case_test.h"

namespace hearth::parts {
namespace {

struct VaeOutputs {
  Tensor mean, decoded;
  std::vector<float> deviation;
};

struct VaeCase : GoldenCase {
  VaeCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor image(const AutoencoderKlConfig& c) const { return image("picture", c.in_channels); }
  Tensor latent(const AutoencoderKlConfig& c) const { return image("latent", c.latent_channels); }
  Tensor image(const std::string& name, int64_t channels) const {
    const std::vector<int64_t> size = fact(name);
    return input(name, {fact("batch"), size[0], size[1], channels});
  }

  VaeOutputs run(const Config& json, const LoadOptions& options = {}) const {
    const AutoencoderKlConfig c = AutoencoderKlConfig::from(json);
    Weights w = weights(options);
    const AutoencoderKl vae(Scope(w), c);
    w.finish();
    const Posterior posterior = vae.encode(image(c));
    return {posterior.mode().z, vae.decode(latent(c)), posterior.deviation()};
  }

  void expect_outputs(const VaeOutputs& y, const std::string& prefix, double limit) const {
    EXPECT_CLOSE(y.mean, golden.values(prefix + "mean"), limit);
    EXPECT_CLOSE(y.deviation, golden.values(prefix + "deviation"), limit);
    EXPECT_CLOSE(y.decoded, golden.values(prefix + "decoded"), limit);
  }
};

void check_vae(Backend& device, const char* name, double limit) {
  const VaeCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  c.expect_outputs(c.run(c.config()), "", limit);
  c.expect_taps(recorder, limit);
}

BACKEND_TEST(Vae, matches_reference_sd1) { check_vae(device, "sd1", 3e-6); }  // observed 1.7e-7 reference, 7.3e-7 cpu
BACKEND_TEST(Vae, matches_reference_with_shift_and_odd_sides) {
  check_vae(device, "shifted", 2e-6);
}  // observed 2.1e-7 reference, 5.5e-7 cpu
BACKEND_TEST(Vae, matches_reference_with_sixteen_channels) { check_vae(device, "sixteen", 4e-6); }  // observed 3.3e-7 reference, 1.2e-6 cpu
BACKEND_TEST(Vae, matches_reference_with_one_level_and_no_attention) {
  check_vae(device, "flat", 1.5e-6);
}  // observed 1.0e-7 reference, 3.2e-7 cpu
BACKEND_TEST(Vae, eps_of_each_norm) { check_vae(device, "faint", 2e-6); }                  // observed 1.8e-7 reference, 5.7e-7 cpu
BACKEND_TEST(Vae, deviation_is_limited_as_published) { check_vae(device, "loud", 3e-6); }  // observed 5.9e-7 reference, 7.6e-7 cpu

BACKEND_TEST(Vae, tiles_are_the_reference_s) {
  const VaeCase c("tiled", device);
  const AutoencoderKlConfig config = AutoencoderKlConfig::from(c.config());
  Weights w = c.weights();
  const AutoencoderKl vae(Scope(w), config);
  EXPECT_EQ(default_tile(config), 8);
  for (const char* name : {"grid", "column", "whole"}) {
    const std::vector<int64_t> size = c.fact(name);
    const Tensor latents = c.input(name, {size[0], size[1], size[2], 4});
    EXPECT_CLOSE(vae.decode_in_tiles(latents, 8), c.golden.values(name), 3e-6);  // observed 1.4e-7 reference, 4.0e-7 cpu
    const double deviation = test::relative_error(vae.decode(latents).to_vector(), c.golden.values(name));
    if (std::string_view(name) == "whole") EXPECT_LE(deviation, 5e-6);
    else EXPECT_GT(deviation, 1e-2);  // tiled images differ
  }
  EXPECT_THROW(vae.decode_in_tiles(Tensor::zeros(device, {1, 8, 9, 4}), 6), UsageError);
  EXPECT_THROW(vae.decode_in_tiles(Tensor::zeros(device, {1, 8, 9, 4}), 0), UsageError);
}

// With quant convolutions, and as in Stable Diffusion 3 and FLUX.1.
BACKEND_TEST(Vae, tiles_of_the_encoder_are_the_reference_s) {
  for (const char* file : {"tiled_encode", "tiled_sixteen"}) {
    SCOPED_TRACE(file);
    const VaeCase c(file, device);
    const AutoencoderKlConfig config = AutoencoderKlConfig::from(c.config());
    Weights w = c.weights();
    const AutoencoderKl vae(Scope(w), config);
    for (const std::string name : {"grid", "row", "whole"}) {
      const std::vector<int64_t> size = c.fact(name);
      const Tensor image = c.input(name, {size[0], size[1], size[2], 3});
      const Posterior tiled = vae.encode_in_tiles(image, 8);
      EXPECT_CLOSE(tiled.mean, c.golden.values(name + ".mean"), 3e-6);              // observed 1.4e-7 reference, 5.1e-7 cpu
      EXPECT_CLOSE(tiled.deviation(), c.golden.values(name + ".deviation"), 1e-6);  // observed 5.3e-8 reference, 1.6e-7 cpu
      const double seams = test::relative_error(vae.encode(image).mean.to_vector(), c.golden.values(name + ".mean"));
      if (name == "whole") EXPECT_LE(seams, 5e-6);
      else EXPECT_GT(seams, 1e-2);
    }
    EXPECT_THROW(vae.encode_in_tiles(Tensor::zeros(device, {1, 64, 64, 3}), 6), UsageError);
    if (file == std::string("tiled_sixteen"))
      EXPECT_CLOSE(vae.decode_in_tiles(c.input("latent", {1, 9, 10, 16}), 8), c.golden.values("latent.decoded"),
                   3e-6);  // observed 1.2e-7 reference, 4.5e-7 cpu
  }
}

// Changing each key alone gives the result of the reference.
BACKEND_TEST(Vae, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 5e-6;  // observed 4.1e-7 reference, 1.6e-6 cpu
  const VaeCase c("perturbed", device);
  c.expect_outputs(c.run(c.config()), "base.", limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    c.expect_outputs(c.run(c.config_with(change["key"], change["value"])), fmt::format("{}.", i++), limit);
  }
}

BACKEND_TEST(Vae, statistics_of_latents_go_both_ways) {
  const VaeCase c("perturbed", device);
  Weights w = c.weights();
  AutoencoderKlConfig config = AutoencoderKlConfig::from(c.config());
  config.scaling_factor = 0.5f, config.latents_mean = {1, 2, 3, 5}, config.latents_std = {2, 4, 8, 0.5f};
  const AutoencoderKl vae(Scope(w), config);
  const Tensor z = Tensor::filled(device, {2, 1, 1, 4}, 3);
  const Tensor model = vae.to_model({z});
  EXPECT_EQ(model.to_vector(), (std::vector<float>{0.5f, 0.125f, 0, -2, 0.5f, 0.125f, 0, -2}));
  EXPECT_EQ(vae.from_model(model).z.to_vector(), z.to_vector());
}

TEST(VaeConfig, published_config_asks_for_exactly_the_published_tensors) {
  const Structure s(__FILE__, "sd15");
  const AutoencoderKlConfig c = AutoencoderKlConfig::from(s.config());
  EXPECT_EQ(s.json.at("tensors").size(), 248u);
  EXPECT_EQ(c.factor(), 8);
  s.expect_same([&](const Scope& w) { return AutoencoderKl(w, c); },
                [](const AutoencoderKl& vae, Backend& plan) {
                  const Posterior posterior = vae.encode(Tensor::empty(plan, {1, 64, 64, 3}));
                  EXPECT_EQ(vae.decode(vae.to_model(posterior.mode())).shape(), (Shape{1, 64, 64, 3}));
                });
}

// FLUX.1 and Stable Diffusion 3, and each of their tensors in Black Forest Labs' ae.safetensors.
TEST(VaeConfig, published_config_with_sixteen_channels_asks_for_exactly_the_published_tensors) {
  const Structure s(__FILE__, "flux");
  const AutoencoderKlConfig c = AutoencoderKlConfig::from(s.config());
  EXPECT_EQ(c.latent_channels, 16);
  EXPECT_EQ(c.shift_factor, 0.1159f);
  s.expect_same([&](const Scope& w) { return AutoencoderKl(w, c); },
                [](const AutoencoderKl& vae, Backend& plan) {
                  const Posterior posterior = vae.encode(Tensor::empty(plan, {1, 64, 64, 3}));
                  EXPECT_EQ(vae.decode(vae.to_model(posterior.mode())).shape(), (Shape{1, 64, 64, 3}));
                });
  const auto list = [](const nlohmann::json& tensors) {
    TensorList all;
    for (const auto& [name, shape] : tensors.items()) all[name] = {.dtype = DType::f32, .shape = Shape(shape.get<std::vector<int64_t>>())};
    return all;
  };
  const TensorList official = list(s.json.at("tensors")),
                   original = list(nlohmann::json::parse(Structure::read(test::folder_of(__FILE__) / "golden/flux_original.json")));
  const NameMap names = autoencoder_kl_names(levels_of_original_autoencoder(original));
  const Pieces pieces = official_pieces(original, "", names);
  EXPECT_EQ(pieces.size(), official.size());
  for (const auto& [name, info] : official) {
    ASSERT_TRUE(pieces.contains(name)) << name;
    EXPECT_EQ(pieces.at(name).info.shape, info.shape) << name;
    EXPECT_EQ(pieces.at(name).info.unreadable, "") << name;
    EXPECT_EQ(to_original(name, names)->name, pieces.at(name).stored);
  }
}

// For every key of the reference's config, its effect is proven above, or it is rejected here by name.
TEST(VaeConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const VaeCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{
      {"_class_name", "AutoencoderTiny"},
      {"act_fn", "mish"},
      {"down_block_types", {"AttnDownEncoderBlock2D", "DownEncoderBlock2D"}},
      {"norm_num_groups", nullptr},
      {"scaling_factor", nullptr},
      {"up_block_types", {"UpDecoderBlock2D", "AttnUpDecoderBlock2D"}},
      {"use_quant_conv", nullptr},
      {"a_key_of_next_year", 1},
  };
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { AutoencoderKlConfig::from(c.config_with(entry.first, entry.second)); },
                                   {entry.first, "config.json"});
  }

  std::set<std::string> looked_at{"_diffusers_version", "latents_mean", "latents_std"};  // the last two below
  for (const auto& [key, value] : refused) looked_at.insert(key);
  for (const auto& change : c.fact("changes")) looked_at.insert(change["key"].get<std::string>());
  for (const auto& [key, value] : c.config_json.items()) EXPECT_TRUE(looked_at.contains(key)) << key << " is neither proven nor refused";
}

TEST(VaeConfig, contradictions_are_named) {
  const auto device = test::make_test_backend("reference");
  const VaeCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> wrong{
      {"block_out_channels", {4, 8, 8}},
      {"block_out_channels", {4, 7}},
      {"block_out_channels", nlohmann::json::array()},
      {"norm_num_groups", 3},
      {"scaling_factor", 0},
      {"latents_mean", {0, 0, 0, 0}},
      {"latents_std", {1, 1, 1, 1}},
      {"latent_channels", 0},
      {"layers_per_block", 0},
      {"use_quant_conv", "yes"},
  };
  for (const auto& entry : wrong) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<WeightError>([&] { AutoencoderKlConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first});
  }
}

// Raw latents cannot be decoded by mistake, and the conversion to the model's space is the inverse of decode's own scaling.
BACKEND_TEST(Vae, one_owner_of_the_latent_scale) {
  static_assert(!std::is_convertible_v<RawLatents, Tensor>);
  const VaeCase c("shifted", device);
  const AutoencoderKlConfig config = AutoencoderKlConfig::from(c.config());
  Weights w = c.weights();
  const AutoencoderKl vae(Scope(w), config);
  const Tensor raw = c.latent(config);
  std::vector<float> expected = raw.to_vector();
  for (float& v : expected) v = (v - 0.1159f) * 0.3611f;
  EXPECT_CLOSE(vae.to_model({raw}), expected, 1e-6);
  // decode computes (model / scaling + shift) = raw: the tap after post_quant_conv, which this config lacks, is raw itself.
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  vae.decode(vae.to_model({raw}));
  EXPECT_CLOSE(recorder.taps.at("post_quant_conv"), raw.to_vector(), 1e-6);
}

BACKEND_TEST(Vae, posterior_sample_is_mean_plus_deviation_times_noise) {
  const Shape shape{1, 1, 2, 2};
  const Posterior p{Tensor::from(device, shape, std::vector<float>{1, -1, 0.5f, 2}),
                    Tensor::from(device, shape, std::vector<float>{0, -100, 100, 1.3862944f})};
  // exp(½ · −30) and exp(½ · 20), as the reference gives them for logvar −100 and 100.
  const std::vector<float> deviation = p.deviation(), limited{1, 3.0590232e-07f, 22026.466f, 2};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(deviation[i], limited[i], 1e-6 * limited[i]);
  const std::vector<float> got = p.sample(Tensor::from(device, shape, std::vector<float>{2, 1, -1, 0.25f})).z.to_vector();
  const std::vector<float> expected{3, -1 + 3.0590232e-07f, 0.5f - 22026.466f, 2.5f};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], expected[i], 1e-6 * std::abs(expected[i]));
  EXPECT_EQ(p.mode().z.to_vector(), p.mean.to_vector());
  EXPECT_THROW(p.sample(Tensor::zeros(device, {1, 1, 2, 3})), ShapeError);
}

BACKEND_TEST(Vae, inputs_that_do_not_fit_are_refused) {
  const VaeCase c("perturbed", device);
  Weights w = c.weights();
  const AutoencoderKl vae(Scope(w), AutoencoderKlConfig::from(c.config()));
  EXPECT_THROW(vae.encode(Tensor::zeros(device, {1, 8, 8, 4})), ShapeError);
  EXPECT_THROW(vae.encode(Tensor::zeros(device, {1, 1, 8, 3})), ShapeError);
  EXPECT_THROW(vae.decode(Tensor::zeros(device, {1, 8, 8, 3})), ShapeError);
  EXPECT_THROW(vae.decode(Tensor::zeros(device, {8, 8, 4})), ShapeError);
}

TEST(VaeConfig, defaults_are_the_reference_s) { expect_reference_defaults<AutoencoderKlConfig>(__FILE__); }

// Weights rounded to 16 bits, arithmetic in f32: only the rounding of the weights shows.
BACKEND_TEST(Vae, weights_in_16_bits_change_little) {
  const VaeCase c("sd1", device);
  const std::vector<float> f32 = c.run(c.config()).decoded.to_vector();
  const Tensor f16 = c.run(c.config(), {.types = {.hold = DType::f16}}).decoded,
               bf16 = c.run(c.config(), {.types = {.hold = DType::bf16}}).decoded;
  EXPECT_CLOSE(f16, f32, 2e-3);     // observed 5.8e-4
  EXPECT_CLOSE(bf16, f32, 1.3e-2);  // observed 4.3e-3
  EXPECT_NE(f16.to_vector(), f32);
  EXPECT_NE(bf16.to_vector(), f32);
}

}  // namespace
}  // namespace hearth::parts
