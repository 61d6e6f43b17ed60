#include "parts/unet/unet.h"

#include <numeric>
#include <set>

#include "parts/golden_case_test.h"
#include "parts/ip_adapter/ip_adapter.h"

namespace hearth::parts {
namespace {

// A golden of golden/make.py, run with its own config or with a changed one.
struct UnetCase : GoldenCase {
  UnetCase(const std::string& name, Backend& backend) : GoldenCase(__FILE__, name, backend) {}

  // Pooled text, sizes and guidance as the recipe made them; each image has its own.
  UnetConditions conditions(const UnetConfig& c, const Tensor& context) const {
    UnetConditions given{.context = context};
    const int64_t B = fact("batch");
    std::vector<Tensor> added, guidance;
    for (int64_t b = 0; b < B && c.added; ++b) {
      const auto sizes = fact("sizes")[size_t(b)].get<std::vector<float>>();
      const Tensor pooled = input("pooled", {B, c.pooled_width(int64_t(sizes.size()))});
      added.push_back(pooled_and_sizes(c, pooled.slice(0, b, b + 1), sizes));
    }
    for (int64_t b = 0; b < B && c.guidance; ++b) guidance.push_back(guidance_embedding(c, *device, fact("guidance")[size_t(b)]));
    if (c.added) given.added = ops::concat(added, 0);
    if (c.guidance) given.guidance = ops::concat(guidance, 0);
    return given;
  }

  Tensor run(const Config& json, const LoadOptions& options = {}, const Perturbed& perturbed = {}) const {
    const UnetConfig c = UnetConfig::from(json);
    Weights w = weights(options);
    const Unet net(Scope(w), c);
    w.finish();
    const int64_t B = fact("batch"), H = fact("height"), W = fact("width"), T = fact("tokens");
    const Tensor context = c.context ? input("context", {B, T, c.context}) : Tensor();
    return net(input("x", {B, H, W, c.in_channels}), fact("timesteps").get<std::vector<float>>(), conditions(c, context), perturbed);
  }
};

void check_unet(Backend& device, const char* name, double limit) {
  const UnetCase c(name, device);
  test::TapRecorder recorder;
  const ObserverScope scope(recorder);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("y"), limit);
  c.expect_taps(recorder, limit);
}

BACKEND_TEST(Unet, matches_reference_sd1) { check_unet(device, "sd1", 3e-6); }                      // observed 2.8e-7 reference, 9.4e-7 cpu
BACKEND_TEST(Unet, matches_reference_sd2_at_odd_sizes) { check_unet(device, "sd2", 5e-6); }         // observed 3.6e-7 reference, 1.6e-6 cpu
BACKEND_TEST(Unet, matches_reference_with_unusual_config) { check_unet(device, "unusual", 2e-6); }  // observed 1.7e-7 reference, 6.6e-7 cpu
BACKEND_TEST(Unet, matches_reference_with_one_level_and_no_middle) {
  check_unet(device, "flat", 2e-6);
}  // observed 1.9e-7 reference, 6.7e-7 cpu
BACKEND_TEST(Unet, matches_reference_with_depths_per_block) {
  check_unet(device, "nested", 4e-6);
}  // observed 3.3e-7 reference, 1.1e-6 cpu
BACKEND_TEST(Unet, matches_reference_sdxl_with_sizes) { check_unet(device, "sdxl", 5e-6); }  // observed 7.2e-7 reference, 2.4e-6 cpu
BACKEND_TEST(Unet, matches_reference_refiner_with_five_sizes) {
  check_unet(device, "refiner", 4e-6);
}  // observed 3.8e-7 reference, 8.9e-7 cpu
BACKEND_TEST(Unet, matches_reference_pruned_and_told_its_guidance) {
  check_unet(device, "pruned", 5e-6);
}  // observed 1.1e-6 reference, 2.1e-6 cpu
BACKEND_TEST(Unet, eps_of_each_norm) { check_unet(device, "faint", 3e-6); }  // observed 1.4e-7 reference, 7.7e-7 cpu

// Changing each key alone gives the result of the reference.
BACKEND_TEST(Unet, each_config_key_has_the_effect_of_the_reference) {
  constexpr double limit = 4e-6;  // observed 4.2e-7 reference, 1.2e-6 cpu
  const UnetCase c("perturbed", device);
  EXPECT_CLOSE(c.run(c.config()), c.golden.values("base"), limit);
  int i = 0;
  for (const auto& change : c.fact("changes")) {
    SCOPED_TRACE(change.dump());
    EXPECT_CLOSE(c.run(c.config_with(change["key"], change["value"])), c.golden.values(fmt::format("y.{}", i++)), limit);
  }
}

// The last image of three, perturbed as in diffusers' PAG pipelines; the others equal those without perturbation.
BACKEND_TEST(Unet, perturbed_attention_is_that_of_the_reference) {
  const UnetCase c("pag", device);
  using Blocks = UnetConfig::Blocks;
  const std::vector<float> plain = c.run(c.config()).to_vector();
  for (const auto& [name, blocks] : {std::pair{"mid", Blocks::mid}, {"down", Blocks::down}, {"up", Blocks::up}}) {
    SCOPED_TRACE(name);
    const std::vector<float> y = c.run(c.config(), {}, {blocks, 1}).to_vector();
    EXPECT_CLOSE(y, c.golden.values(name), 4e-6);  // observed 2.7e-7 reference, 1.1e-6 cpu
    const size_t kept = plain.size() / 3 * 2;
    EXPECT_LE(test::relative_error(std::span(y).first(kept), std::span(plain).first(kept)), 1e-6);
    EXPECT_GE(test::relative_error(std::span(y).subspan(kept), std::span(plain).subspan(kept)), 1e-3);
  }
  EXPECT_THROW(c.run(c.config(), {}, {Blocks::mid, 4}), ShapeError);
}

// Two IP-Adapters: neither, one of them, both. Image prompts with the scale 0 are left out by the caller.
BACKEND_TEST(Unet, image_prompts_are_those_of_the_reference) {
  const UnetCase c("images", device);
  const UnetConfig config = UnetConfig::from(c.config());
  EXPECT_EQ(config.cross_attentions(), c.fact("channels").get<std::vector<int64_t>>());
  const IpAdapterConfig sizes{
      .kind = IpAdapterConfig::Kind::vector, .in = 10, .width = config.context, .attends = config.cross_attentions()};
  Weights w = c.weights();
  const Unet net(Scope(w), config);
  const IpAdapter a(Scope(w) / "a", sizes), b(Scope(w) / "b", sizes);
  const int64_t B = c.fact("batch");
  const ImagePrompt first{.attends = a.attends, .tokens = a.tokens(c.input("image.a", {B, 10})), .scale = 0.7f};
  const ImagePrompt second{.attends = b.attends, .tokens = b.tokens(c.input("image.b", {B, 10})), .scale = -0.4f};
  const auto run = [&](std::initializer_list<ImagePrompt> images) {
    return net(c.input("x", {B, c.fact("height"), c.fact("width"), 4}), c.fact("timesteps").get<std::vector<float>>(),
               {.context = c.input("context", {B, c.fact("tokens"), config.context}), .images = images});
  };
  EXPECT_CLOSE(run({}), c.golden.values("none"), 4e-6);
  EXPECT_CLOSE(run({first}), c.golden.values("first"), 4e-6);
  EXPECT_CLOSE(run({first, second}), c.golden.values("both"), 4e-6);
  EXPECT_THROW(run({{.attends = a.attends, .tokens = Tensor::zeros(device, {B, 4, 11})}}), ShapeError);

  ImagePrompt masked = second;
  for (const int64_t positions : {42, 12, 4}) {
    std::vector<int32_t> rows(size_t(B * positions));
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<float> factors;
    for (int64_t image = 0; image < B; ++image)
      for (const float m : c.golden.values(fmt::format("mask.{}", positions))) factors.push_back(1.3f * m);
    masked.masks[positions] = {Tensor::from(device, {B * positions}, rows), Tensor::from(device, {B * positions}, factors)};
  }
  EXPECT_CLOSE(run({first, masked}), c.golden.values("masked"), 4e-6);
}

TEST(UnetConfig, knows_where_it_attends_to_itself) {
  const auto device = test::make_test_backend("reference");
  const UnetCase c("perturbed", *device);
  const auto attends = [](const Config& json) {
    const UnetConfig config = UnetConfig::from(json);
    using Blocks = UnetConfig::Blocks;
    return std::vector<bool>{config.attends_to_itself(Blocks::mid), config.attends_to_itself(Blocks::down),
                             config.attends_to_itself(Blocks::up)};
  };
  EXPECT_EQ(attends(c.config()), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(attends(c.config_with("mid_block_type", nullptr)), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(attends(c.config_with("only_cross_attention", true)), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(attends(c.config_with("up_block_types", {"UpBlock2D", "UpBlock2D"})), (std::vector<bool>{true, true, false}));
}

TEST(UnetConfig, published_configs_ask_for_exactly_the_published_tensors) {
  for (const auto& [name, tensors] : {std::pair{"sd15", 686u}, {"sd21", 686u}, {"sdxl", 1680u}, {"refiner", 1220u}}) {
    const Structure s(__FILE__, name);
    const UnetConfig c = UnetConfig::from(s.config());
    EXPECT_EQ(s.json.at("tensors").size(), tensors);
    s.expect_same([&](const Scope& w) { return Unet(w, c); },
                  [&](const Unet& net, Backend& plan) {
                    const std::vector<float> timesteps{999};
                    const Tensor added = c.added ? Tensor::empty(plan, {1, c.added}) : Tensor();
                    const Tensor context = Tensor::empty(plan, {1, 77, c.context});
                    const Tensor y = net(Tensor::empty(plan, {1, 64, 64, 4}), timesteps, {.context = context, .added = added});
                    EXPECT_EQ(y.shape(), (Shape{1, 64, 64, 4}));
                  });
  }
}

// For every key of the reference's config, its effect is proven above, or it is rejected here by name.
TEST(UnetConfig, every_key_is_applied_or_refused) {
  const auto device = test::make_test_backend("reference");
  const UnetCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> refused{
      {"_class_name", "UNet2DModel"},
      {"act_fn", "mish"},
      {"act_fn", nullptr},
      {"addition_embed_type", "text"},
      {"attention_head_dim", nullptr},
      {"attention_type", "gated"},
      {"class_embed_type", "timestep"},
      {"class_embeddings_concat", true},
      {"conv_in_kernel", 4},
      {"conv_out_kernel", 0},
      {"down_block_types", {"AttnDownBlock2D", "DownBlock2D"}},
      {"downsample_padding", 2},
      {"dual_cross_attention", true},
      {"encoder_hid_dim", 64},
      {"encoder_hid_dim_type", "text_proj"},
      {"mid_block_type", "UNetMidBlock2DSimpleCrossAttn"},
      {"norm_num_groups", nullptr},
      {"flip_sin_to_cos", nullptr},
      {"num_attention_heads", 4},
      {"num_class_embeds", 10},
      {"resnet_time_scale_shift", "scale_shift"},
      {"time_embedding_type", "fourier"},
      {"time_embedding_act_fn", "mish"},
      {"timestep_post_act", "mish"},
      {"up_block_types", {"UpBlock2D", "ResnetUpsampleBlock2D"}},
      {"a_key_of_next_year", 1},
  };
  for (const auto& entry : refused) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<UnsupportedError>([&] { UnetConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first, "config.json"});
  }

  // Goldens sd1 and unusual, pruned.
  std::set<std::string> looked_at{"_diffusers_version", "in_channels", "out_channels", "time_cond_proj_dim"};
  for (const auto& [key, value] : refused) looked_at.insert(key);
  for (const auto& change : c.fact("changes")) looked_at.insert(change["key"].get<std::string>());
  for (const auto& [key, value] : c.config_json.items()) EXPECT_TRUE(looked_at.contains(key)) << key << " is neither proven nor refused";
}

TEST(UnetConfig, contradictions_are_named) {
  const auto device = test::make_test_backend("reference");
  const UnetCase c("perturbed", *device);
  const std::vector<std::pair<std::string, nlohmann::json>> wrong{
      {"block_out_channels", {8, 16, 24}},
      {"block_out_channels", {8, 18}},  // groups of 4
      {"layers_per_block", {1, 1, 1}},
      {"layers_per_block", 0},
      {"attention_head_dim", {2, 4, 8}},
      {"attention_head_dim", 9},
      {"attention_head_dim", 0},
      {"cross_attention_dim", {12, 20}},
      {"only_cross_attention", {true}},
      {"norm_num_groups", 0},
      {"norm_num_groups", 2.5},
      {"transformer_layers_per_block", {{1}, {1}}},
      {"transformer_layers_per_block", {1, 2, 3}},
      {"transformer_layers_per_block", -1},
      {"reverse_transformer_layers_per_block", {{1}, {1}}},
      {"sample_size", {1, 2, 3}},
      {"in_channels", 0},
      {"act_fn", 3},
  };
  for (const auto& entry : wrong) {
    SCOPED_TRACE(entry.first + " = " + entry.second.dump());
    expect_error<WeightError>([&] { UnetConfig::from(c.config_with(entry.first, entry.second)); }, {entry.first});
  }
}

TEST(UnetConfig, defaults_are_the_reference_s) { expect_reference_defaults<UnetConfig>(__FILE__); }

TEST(UnetConfig, sample_size_is_one_side_or_height_and_width) {
  using Sides = std::array<int64_t, 2>;
  EXPECT_EQ(UnetConfig::from(Config::parse(R"({"sample_size": 96})", "config.json")).sample_size, (Sides{96, 96}));
  EXPECT_EQ(UnetConfig::from(Config::parse(R"({"sample_size": [64, 40]})", "config.json")).sample_size, (Sides{64, 40}));
  EXPECT_EQ(UnetConfig::from(Config::parse(R"({"sample_size": null})", "config.json")).sample_size, std::nullopt);
}

BACKEND_TEST(Unet, inputs_that_do_not_fit_are_refused) {
  const UnetCase c("perturbed", device);
  Weights w = c.weights();
  const Unet net(Scope(w), UnetConfig::from(c.config()));
  const std::vector<float> one{1}, two{1, 2};
  const Tensor x = c.input("x", {1, 5, 4, 4}), context = c.input("context", {1, 3, 12});
  EXPECT_THROW(net(c.input("x", {1, 5, 4, 3}), one, {.context = context}), ShapeError);
  EXPECT_THROW(net(c.input("x", {5, 4, 4}), one, {.context = context}), ShapeError);
  EXPECT_THROW(net(x, two, {.context = context}), ShapeError);
  EXPECT_THROW(net(x, {}, {.context = context}), ShapeError);
  EXPECT_THROW(net(x, one, {.context = c.input("context", {1, 3, 11})}), ShapeError);
  EXPECT_THROW(net(x, one, {.context = c.input("context", {2, 3, 12})}), ShapeError);
  EXPECT_THROW(net(x, one, {}), ShapeError);

  const UnetCase told("pruned", device);
  const UnetConfig pruned = UnetConfig::from(told.config());
  Weights u = told.weights();
  const Unet wants(Scope(u), pruned);
  const Tensor y = told.input("x", {1, 4, 6, 4}), given = told.input("context", {1, 3, 12}), added = told.input("pooled", {1, 40});
  const Tensor guidance = guidance_embedding(pruned, device, 5);
  EXPECT_NO_THROW(wants(y, one, {.context = given, .added = added, .guidance = guidance}));
  EXPECT_THROW(wants(y, one, {.context = given, .guidance = guidance}), ShapeError);
  EXPECT_THROW(wants(y, one, {.context = given, .added = added}), ShapeError);
  EXPECT_THROW(wants(y, one, {.context = given, .added = told.input("pooled", {1, 39}), .guidance = guidance}), ShapeError);
  const std::vector<float> sizes{1, 2, 3, 4, 5};
  EXPECT_THROW(pooled_and_sizes(pruned, told.input("pooled", {1, 16}), sizes), ShapeError);  // six fit
}

// A batch equals n single images bit for bit, each with its own timestep.
BACKEND_TEST(Unet, batch_of_two_equals_two_single_runs) {
  const UnetCase c("perturbed", device);
  Weights w = c.weights();
  const Unet net(Scope(w), UnetConfig::from(c.config()));
  const Tensor x = c.input("x", {2, 5, 4, 4}), context = c.input("context", {2, 3, 12});
  const std::vector<float> timesteps{321.5f, 7};
  const std::vector<float> both = net(x, timesteps, {.context = context}).to_vector();
  std::vector<float> single;
  for (int64_t b = 0; b < 2; ++b)
    for (float v :
         net(x.slice(0, b, b + 1), std::span(timesteps).subspan(size_t(b), 1), {.context = context.slice(0, b, b + 1)}).to_vector())
      single.push_back(v);
  EXPECT_EQ(both, single);
}

// Weights rounded to 16 bits, arithmetic in f32: only the rounding of the weights shows.
BACKEND_TEST(Unet, weights_in_16_bits_change_little) {
  const UnetCase c("sd1", device);
  const std::vector<float> f32 = c.run(c.config()).to_vector();
  const Tensor f16 = c.run(c.config(), {.types = {.hold = DType::f16}}), bf16 = c.run(c.config(), {.types = {.hold = DType::bf16}});
  EXPECT_CLOSE(f16, f32, 3e-3);     // observed 9.5e-4
  EXPECT_CLOSE(bf16, f32, 2.5e-2);  // observed 8.4e-3
  EXPECT_NE(f16.to_vector(), f32);
  EXPECT_NE(bf16.to_vector(), f32);
}

}  // namespace
}  // namespace hearth::parts
