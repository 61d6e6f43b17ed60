#include "models/sana/autoencoder.h"

#include "parts/golden_case_test.h"

namespace hearth::models::sana {
namespace {

using parts::expect_error;

struct DcCase : parts::GoldenCase {
  DcCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend), c(AutoencoderDcConfig::from(config())) {}
  Tensor image() const { return input("image", {fact("batch"), fact("height"), fact("width"), c.image_channels}); }
  Tensor z() const {
    return input("z",
                 {fact("batch"), fact("height").get<int64_t>() / c.factor(), fact("width").get<int64_t>() / c.factor(), c.latent_channels});
  }
  AutoencoderDcConfig c;
};

void check_autoencoder(Backend& device, const char* name, double limit) {
  const DcCase c(name, device);
  Weights w = c.weights();
  const AutoencoderDc net(Scope(w), c.c);
  w.finish();
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(net.encode(c.image()), c.golden.values("encoded"), limit);
  EXPECT_CLOSE(net.decode(c.z()), c.golden.values("decoded"), limit);
  c.expect_taps(recorder, limit);
}

// Observed, the worst of both outputs and all taps on all backends: 1.6e-6, 5.8e-7, 3.5e-7.
BACKEND_TEST(AutoencoderDc, matches_reference_as_published) { check_autoencoder(device, "dc_published", 1e-5); }
BACKEND_TEST(AutoencoderDc, matches_reference_with_shuffled_pixels) { check_autoencoder(device, "dc_shuffled", 5e-6); }
BACKEND_TEST(AutoencoderDc, eps_of_each_norm) { check_autoencoder(device, "dc_faint", 3e-6); }

BACKEND_TEST(AutoencoderDc, an_image_alone_has_the_bits_of_a_batch) {
  const DcCase c("dc_published", device);
  Weights w = c.weights();
  const AutoencoderDc net(Scope(w), c.c);
  const Tensor x = c.image(), z = c.z();
  EXPECT_EQ(net.encode(x.slice(0, 1, 2)).to_vector(), net.encode(x).slice(0, 1, 2).to_vector());
  EXPECT_EQ(net.decode(z.slice(0, 1, 2)).to_vector(), net.decode(z).slice(0, 1, 2).to_vector());
}

TEST(AutoencoderDcShapes, shapes_that_do_not_match_are_named) {
  const auto device = test::make_test_backend("reference");
  const DcCase c("dc_published", *device);
  Weights w = c.weights();
  const AutoencoderDc net(Scope(w), c.c);
  expect_error<ShapeError>([&] { net.encode(Tensor::zeros(*device, {1, 6, 8, 3})); }, {"multiples of 4"});
  expect_error<ShapeError>([&] { net.encode(Tensor::zeros(*device, {1, 8, 8, 1})); }, {"[B, H, W, 3]"});
  expect_error<ShapeError>([&] { net.decode(Tensor::zeros(*device, {1, 8, 8, 3})); }, {"expected [B, H, W, 4]"});
}

TEST(AutoencoderDcConfig, the_published_config_asks_for_exactly_the_published_tensors) {
  const parts::Structure s(__FILE__, "dc_f32");
  const AutoencoderDcConfig c = AutoencoderDcConfig::from(s.config());
  EXPECT_EQ(c.factor(), 32);
  s.expect_same([&](const Scope& w) { return std::pair(DcEncoder(w / "encoder", c), DcDecoder(w / "decoder", c)); },
                [&](const auto& net, Backend& plan) {
                  const Tensor z = net.first(Tensor::empty(plan, {1, 256, 384, 3}));
                  EXPECT_EQ(z.shape(), (Shape{1, 8, 12, 32}));
                  EXPECT_EQ(net.second(z).shape(), (Shape{1, 256, 384, 3}));
                });
}

TEST(AutoencoderDcConfig, what_is_not_supported_is_refused_by_name) {
  const auto device = test::make_test_backend("reference");
  const DcCase c("dc_published", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{
      {"_class_name", "AutoencoderKL"},
      {"decoder_norm_types", "batch_norm"},
      {"decoder_act_fns", {"silu", "gelu", "silu"}},
      {"encoder_block_types", "ResBlock2"},
      {"upsample_block_type", "bilinear"},
      {"downsample_block_type", nullptr},
      {"a_key_of_next_year", 1},
  };
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { AutoencoderDcConfig::from(c.config_with(entry.first, entry.second)); },
                                   {entry.first, "config.json"});
  }
  const std::vector<std::pair<std::string, nlohmann::json>> wrong{
      {"latent_channels", 3},
      {"scaling_factor", 0},
      {"encoder_layers_per_block", {1, 2}},
      {"encoder_qkv_multiscales", {nlohmann::json::array(), nlohmann::json::array(), {4}}},
      {"decoder_block_types", {"ResBlock"}},
      {"encoder_layers_per_block", {1, 0, 1}},
  };
  for (const auto& entry : wrong) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<WeightError>([&] { AutoencoderDcConfig::from(c.config_with(entry.first, entry.second)); }, {"config.json"});
  }
}

TEST(AutoencoderDcConfig, defaults_are_the_reference_s) {
  const auto defaults = nlohmann::json::parse(parts::Structure::read(test::folder_of(__FILE__) / "golden/defaults.json"));
  EXPECT_TRUE(AutoencoderDcConfig::from(Config::parse("{}", "empty")) ==
              AutoencoderDcConfig::from(Config::parse(defaults.at("vae").dump(), "defaults")));
}

}  // namespace
}  // namespace hearth::models::sana
