#include "parts/autoencoder_wan/autoencoder_wan.h"

#include "parts/golden_case_test.h"

namespace hearth::parts {
namespace {

struct Outputs {
  Tensor mean, decoded;
  std::vector<float> deviation;
};

struct WanCase : GoldenCase {
  WanCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  Tensor image(const std::string& name, int64_t channels) const {
    const std::vector<int64_t> size = fact(name);
    return input(name, {fact("batch"), size[0], size[1], channels});
  }

  Outputs run(const Config& json, const LoadOptions& options = {}) const {
    const AutoencoderWanConfig c = AutoencoderWanConfig::from(json);
    Weights w = weights(options);
    const AutoencoderWan vae(Scope(w), c);
    w.finish();
    const Posterior posterior = vae.encode(image("picture", c.image_channels));
    return {posterior.mode().z, vae.decode(image("latent", c.latent_channels)), posterior.deviation()};
  }

  void expect_outputs(const Outputs& y, const std::string& prefix, double limit) const {
    EXPECT_CLOSE(y.mean, golden.values(prefix + "mean"), limit);
    EXPECT_CLOSE(y.deviation, golden.values(prefix + "deviation"), limit);
    EXPECT_CLOSE(y.decoded, golden.values(prefix + "decoded"), limit);
  }
};

void check_wan(Backend& device, const char* name, double limit) {
  const WanCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  c.expect_outputs(c.run(c.config()), "", limit);
  c.expect_taps(recorder, limit);
}

BACKEND_TEST(AutoencoderWan, matches_reference) { check_wan(device, "qwen", 5e-6); }  // observed 3.5e-7 reference, 1.1e-6 cpu
BACKEND_TEST(AutoencoderWan, matches_reference_with_two_levels_and_odd_sides) {
  check_wan(device, "two", 2e-6);
}  // observed 1.4e-7 reference, 4.3e-7 cpu
BACKEND_TEST(AutoencoderWan, norms_have_no_eps) { check_wan(device, "faint", 3e-6); }  // observed 3.1e-7 reference, 6.3e-7 cpu

BACKEND_TEST(AutoencoderWan, tiles_are_the_reference_s) {
  const WanCase c("tiled", device);
  Weights w = c.weights();
  const AutoencoderWan vae(Scope(w), AutoencoderWanConfig::from(c.config()));
  for (const std::string name : {"grid", "column", "whole"}) {
    SCOPED_TRACE(name);
    const std::vector<int64_t> size = c.fact(name);
    const Tensor latents = c.input(name, {size[0], size[1], size[2], 4});
    EXPECT_CLOSE(vae.decode_in_tiles(latents, 8), c.golden.values(name), 5e-6);
    const Tensor image = c.input(name + ".picture", {size[0], 8 * size[1], 8 * size[2], 3});
    const Posterior tiled = vae.encode_in_tiles(image, 8);
    EXPECT_CLOSE(tiled.mean, c.golden.values(name + ".mean"), 5e-6);
    EXPECT_CLOSE(tiled.deviation(), c.golden.values(name + ".deviation"), 5e-6);
    const double seams = test::relative_error(vae.encode(image).mean.to_vector(), c.golden.values(name + ".mean"));
    if (name == "whole") EXPECT_LE(seams, 5e-6);
    else EXPECT_GT(seams, 1e-3);
  }
  EXPECT_THROW(vae.decode_in_tiles(Tensor::zeros(device, {1, 8, 9, 4}), 6), UsageError);
  EXPECT_THROW(vae.encode_in_tiles(Tensor::zeros(device, {1, 64, 72, 3}), 6), UsageError);
}

// Changing each key alone gives the result of the reference.
BACKEND_TEST(AutoencoderWan, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 5e-6;
  const WanCase c("perturbed", device);
  c.expect_outputs(c.run(c.config()), "base.", limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    c.expect_outputs(c.run(c.config_with(change["key"], change["value"])), fmt::format("{}.", i++), limit);
  }
}

BACKEND_TEST(AutoencoderWan, statistics_of_latents_go_both_ways) {
  const WanCase c("qwen", device);
  Weights w = c.weights();
  AutoencoderWanConfig config = AutoencoderWanConfig::from(c.config());
  config.latents_mean = {1, 2, 3, 5}, config.latents_std = {2, 4, 8, 0.5f};
  const AutoencoderWan vae(Scope(w), config);
  const Tensor z = Tensor::filled(device, {2, 1, 1, 4}, 3);
  const Tensor model = vae.to_model({z});
  EXPECT_EQ(model.to_vector(), (std::vector<float>{1, 0.25f, 0, -4, 1, 0.25f, 0, -4}));
  EXPECT_EQ(vae.from_model(model).z.to_vector(), z.to_vector());
}

// Weights rounded to 16 bits, arithmetic in f32: only the rounding of the weights shows.
BACKEND_TEST(AutoencoderWan, weights_in_16_bits_change_little) {
  const WanCase c("qwen", device);
  const std::vector<float> f32 = c.run(c.config()).decoded.to_vector();
  const Tensor f16 = c.run(c.config(), {.types = {.hold = DType::f16}}).decoded,
               bf16 = c.run(c.config(), {.types = {.hold = DType::bf16}}).decoded;
  EXPECT_CLOSE(f16, f32, 4e-3);
  EXPECT_CLOSE(bf16, f32, 3e-2);
  EXPECT_NE(f16.to_vector(), f32);
  EXPECT_NE(bf16.to_vector(), f32);
}

BACKEND_TEST(AutoencoderWan, inputs_that_do_not_fit_are_refused) {
  const WanCase c("qwen", device);
  Weights w = c.weights();
  const AutoencoderWan vae(Scope(w), AutoencoderWanConfig::from(c.config()));
  EXPECT_THROW(vae.encode(Tensor::zeros(device, {1, 8, 8, 4})), ShapeError);
  EXPECT_THROW(vae.encode(Tensor::zeros(device, {1, 8, 7, 3})), ShapeError);
  EXPECT_THROW(vae.decode(Tensor::zeros(device, {1, 8, 8, 3})), ShapeError);
}

TEST(AutoencoderWanConfig, the_published_config_asks_for_exactly_the_published_tensors) {
  struct Asked : TensorSource {
    std::string describe() const override { return "names alone"; }
    std::map<std::string, TensorInfo> list() const override { return {}; }
    bool has(const std::string&) const override { return true; }
    Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
      return shapes[name] = wanted, Tensor::empty(backend, wanted);
    }
    std::map<std::string, Shape> shapes;
  };
  const Structure s(__FILE__, "qwen-image");
  MemoryLedger ledger;
  const std::unique_ptr<Backend> plan = make_plan_backend(ledger);
  const auto asked = std::make_shared<Asked>();
  Weights weights(asked, *plan);
  const AutoencoderWan vae(Scope(weights), AutoencoderWanConfig::from(s.config()));
  std::map<std::string, std::vector<int64_t>> read;
  for (const std::string& name : weights.names_read()) {
    const auto found = asked->shapes.find(name);  // those of other frames are only checked
    read[name] = found == asked->shapes.end() ? s.json.at("tensors").at(name).get<std::vector<int64_t>>()
                                              : std::vector<int64_t>(found->second.begin(), found->second.end());
  }
  EXPECT_EQ(read, (s.json.at("tensors").get<std::map<std::string, std::vector<int64_t>>>()));
  EXPECT_EQ(vae.decode(Tensor::empty(*plan, {1, 2, 3, 16})).shape(), (Shape{1, 16, 24, 3}));
  EXPECT_EQ(vae.encode(Tensor::empty(*plan, {1, 16, 24, 3})).mean.shape(), (Shape{1, 2, 3, 16}));
}

TEST(AutoencoderWanConfig, defaults_are_the_reference_s) { expect_reference_defaults<AutoencoderWanConfig>(__FILE__); }

TEST(AutoencoderWanConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const WanCase c("qwen", *device);
  const auto read = [&](const std::string& key, const nlohmann::json& value) {
    return AutoencoderWanConfig::from(c.config_with(key, value));
  };
  expect_error<UnsupportedError>([&] { read("attn_scales", {0.5}); }, {"attn_scales", "config.json"});
  expect_error<UnsupportedError>([&] { read("is_residual", true); }, {"is_residual"});
  expect_error<UnsupportedError>([&] { read("base_dim", nullptr); }, {"base_dim"});
  expect_error<WeightError>([&] { read("dim_mult", {1, 2}); }, {"temperal_downsample", "3 entries"});
  expect_error<WeightError>([&] { read("base_dim", 3); }, {"base_dim", "even"});
  expect_error<WeightError>([&] { read("latents_mean", {1, 2}); }, {"latents_mean", "4 latent channels"});
  expect_error<WeightError>([&] { read("latents_std", {1, 2, 0, 1}); }, {"latents_std", "above 0"});
  expect_error<WeightError>([&] { read("num_res_blocks", 0); }, {"num_res_blocks"});
}

}  // namespace
}  // namespace hearth::parts
