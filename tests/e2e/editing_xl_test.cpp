// Runs that start from an image with Stable Diffusion XL and its refiner, with depth-to-image models and with EDM checkpoints, compared
// with diffusers (golden/make_editing_xl.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>

#include "e2e/editing_cases_test.h"
#include "media/editing/resample.h"
#include "support/complaint.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;

struct EditsXl : testing::Test, EditingCases {
  EditsXl() : EditingCases("editing_xl") {}
};

TEST_F(EditsXl, latents_are_those_of_diffusers) {
  expect_golden_latents(2e-5);  // observed 3.3e-7 to 3.3e-6, with KDPM2 ancestral from noise 9.5e-6
}

TEST_F(EditsXl, default_strengths_are_hearths_or_those_of_the_pipelines) {
  const auto strength = [&](const std::string& checkpoint, bool masked, Compat compat) {
    Request r = request_of(cases.at(masked ? "paint_050" : "image_055"));
    r.edit.strength.reset(), r.compat = compat, r.sampler = "euler";
    const Json report = Json::parse(model(checkpoint).generate(r).report);
    return report.at("request").at("flags").at("strength").get<std::string>();
  };
  for (const Compat compat : {Compat::hearth, Compat::comfyui, Compat::a1111})
    for (const char* checkpoint : {"pndm", "xl"}) {
      EXPECT_EQ(strength(checkpoint, false, compat), "0.8") << checkpoint << name_of(compat);
      EXPECT_EQ(strength(checkpoint, true, compat), "1") << checkpoint << name_of(compat);
    }
  EXPECT_EQ(strength("xl_refiner", false, Compat::hearth), "0.3");
  EXPECT_EQ(strength("xl_refiner", true, Compat::hearth), "1");
  EXPECT_EQ(strength("pndm", false, Compat::diffusers), "0.8");
  EXPECT_EQ(strength("pndm", true, Compat::diffusers), "1");
  for (const char* checkpoint : {"xl", "xl_refiner"}) {
    EXPECT_EQ(strength(checkpoint, false, Compat::diffusers), "0.3");
    EXPECT_EQ(strength(checkpoint, true, Compat::diffusers), "0.9999");
  }
}

// Outside the mask are the image's own latents, whichever model executes the last steps; inside, the refiner changed the result.
TEST_F(EditsXl, a_refiner_inpaints_under_the_mask_only) {
  Json c = cases.at("paint_080");
  const Generation alone = model_of(c).generate(request_of(c));
  c["refiner"] = "xl_refiner", c["end"] = 0.5;
  const Generation both = model_of(c).generate(request_of(c));
  int64_t kept = 0, painted = 0;
  for (size_t i = 0; i < alone.latents.values.size(); ++i) {
    const size_t y = i % 64 / 8 * 8, x = i % 8 * 8;  // the pixel that the latent mask samples
    const bool same = alone.latents.values[i] == both.latents.values[i];
    if (image("mask", 64, 64).rgb[3 * (y * 64 + x)] < 128) kept += same ? 0 : 1;
    else painted += same ? 0 : 1;
  }
  EXPECT_EQ(kept, 0);
  EXPECT_GE(painted, 40);
}

// The VAE's latent statistics in decode, and in both encode and decode.
TEST_F(EditsXl, latents_with_statistics_are_decoded_as_in_diffusers) {
  Model& m = model_of(cases.at("edm"));
  const Tensor latents = golden("edm"), wanted = golden("edm.picture");
  const Array image = m.decode({.shape = {1, 4, 8, 8}, .values = latents.to_vector()});
  const double error = relative_error(image.values, wanted.to_vector());
  if (std::getenv("HEARTH_PRINT_ERRORS")) printf("decoded: %.1e\n", error);
  EXPECT_LE(error, 5e-6);  // observed 5.2e-7
}

// diffusers' pipelines of Stable Diffusion 1.x and 2.x do not support latent statistics.
TEST_F(EditsXl, statistics_of_other_families_are_reported_and_not_applied) {
  CheckpointCopy copy("pndm");
  copy.edit_json("vae/config.json", [](Json& c) { c["latents_mean"] = {1, 2, 3, 4}, c["latents_std"] = {5, 6, 7, 8}; });
  Model other = Model::open(copy.path(), {.precision = Precision::f32});
  Request r = request_of(cases.at("image_055"));
  const Generation made = other.generate(r);
  EXPECT_EQ(made.latents.values, model("pndm").generate(r).latents.values);
  EXPECT_NE(made.report.find("latents_mean and latents_std are not applied"), std::string::npos);
}

TEST_F(EditsXl, depth_maps_have_any_size_and_range) {
  const Json c = cases.at("depth_030");
  Request r = request_of(c);
  Model& m = model_of(c);
  const auto own = m.generate(r).latents.values;
  Image& map = *r.edit.depth_map;
  for (uint8_t& v : map.rgb) v = uint8_t(v / 2 + 3);  // nearly the same, because of rounding
  EXPECT_LE(relative_error(m.generate(r).latents.values, own), 2e-2);
  map = image("depth", 64, 64);
  for (const uint8_t v : map.rgb) map.rgb16.push_back(uint16_t(v * 257));
  EXPECT_LE(relative_error(m.generate(r).latents.values, own), 1e-5);  // observed 1.6e-6
  for (uint16_t& v : map.rgb16) v = uint16_t(v / 257);                 // the values have only 8 bits: exact
  EXPECT_LE(relative_error(m.generate(r).latents.values, own), 1e-5);  // observed 1.6e-6
  map.rgb16.clear();
  for (uint8_t& v : map.rgb) v = uint8_t(255 - v);
  EXPECT_GE(relative_error(m.generate(r).latents.values, own), 1e-2);
}

// Text-to-image, a batch, two passes and a mask.
TEST_F(EditsXl, depth_maps_work_in_every_run_of_the_whole_image) {
  const Json c = cases.at("depth_030");
  Model& m = model_of(c);
  Request noise = request_of(c);
  noise.edit.image.reset(), noise.edit.strength.reset();
  noise.width = 64, noise.height = 40, noise.compat = Compat::hearth, noise.sampler = "euler_ancestral";
  Request both = noise;
  both.batch_size = 2;
  const auto batch = m.generate(both).latents.values, one = m.generate(noise).latents.values;
  EXPECT_EQ(std::vector<float>(batch.begin(), batch.begin() + std::ptrdiff_t(one.size())), one);
  Request twice = noise;
  twice.hires = Hires{.scale = 1.5, .steps = 2};
  EXPECT_EQ(m.generate(twice).latents.shape, (std::vector<int64_t>{1, 4, 7, 12}));
  Request paint = request_of(c);
  paint.edit.mask = image("mask", 64, 64), paint.edit.strength = 1.0, paint.decode = true, paint.compat = Compat::hearth;
  const Image made = m.generate(paint).images.at(0);
  for (size_t i = 0; i < made.rgb.size(); ++i) {
    if (paint.edit.mask->rgb[i] == 0) { ASSERT_EQ(made.rgb[i], paint.edit.image->rgb[i]); }
  }
}

TEST_F(EditsXl, unsupported_depth_maps_are_refused) {
  const auto refused = [&](const char* name, const std::function<void(Request&)>& change, const char* says) {
    Request r = request_of(cases.at(name));
    change(r);
    const std::string said = complaint_of([&] { model_of(cases.at(name)).generate(r); });
    EXPECT_NE(said.find(says), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  };
  refused(
      "depth_030", [](Request& r) { r.edit.depth_map.reset(); }, "this model is conditioned on a depth map, expected --depth-map");
  refused(
      "image_055", [&](Request& r) { r.edit.depth_map = image("depth", 64, 64); }, "this model does not support a depth map");
  refused(
      "depth_030", [](Request& r) { r.edit.depth_map->rgb.assign(64 * 64 * 3, 77); },
      "the depth map is 77 everywhere, expected different depths");
  refused(
      "depth_030", [](Request& r) { r.edit.depth_map->rgb.pop_back(); }, "depth map: 12287 bytes for 64×64 pixels");
  refused(
      "depth_030",
      [](Request& r) {
        r.edit.outpaint = {8, 0, 0, 0};
      },
      "--depth-map cannot be combined with --only-masked");
  refused(
      "depth_030", [](Request& r) { r.edit.resize = ResizeMode::crop; }, "--depth-map cannot be combined with --only-masked");
}

// The second pass is ComfyUI's image-to-image on the result of the first, whatever the first started from.
TEST_F(EditsXl, a_second_pass_follows_image_to_image) {
  Request r = request_of(cases.at("image_055"));
  r.compat = Compat::comfyui, r.decode = true, r.sampler = "euler_ancestral";
  Model& m = model("xl");
  Request one = r;
  const Image first = m.generate(one).images.at(0);
  r.hires = Hires{.scale = 1.5, .upscaler = "lanczos", .steps = 3, .strength = 0.5};
  const Generation twice = m.generate(r);
  const Pixels larger = resize(Pixels{.width = 64, .height = 64, .rgb = first.rgb}, 96, 96, Filter::lanczos);
  one.edit.image = Image{.width = 96, .height = 96, .rgb = larger.rgb};
  one.edit.strength = 0.5, one.steps = 3;
  EXPECT_EQ(twice.images.at(0).rgb, m.generate(one).images.at(0).rgb);
  const Json flags = Json::parse(twice.report).at("request").at("flags");
  EXPECT_EQ(flags.at("strength"), "0.55");
  EXPECT_EQ(flags.at("hires-strength"), "0.5");
  // Latent upscalers need no VAE decode between the passes.
  r.hires = Hires{.scale = 1, .strength = 0};
  r.edit.strength = 0.55;
  one = r;
  one.hires.reset();
  EXPECT_EQ(m.generate(r).latents.values, m.generate(one).latents.values);
}

// CLIP-L's last layer is not used; some merged files have NaN in it.
TEST_F(EditsXl, nan_in_the_last_layer_changes_nothing) {
  CheckpointCopy copy("xl");
  copy.edit_tensors("text_encoder", [&](NamedTensors& tensors) {
    for (auto& [name, tensor] : tensors)
      if (name.find("layers.2.") != name.npos || name.find("final_layer_norm") != name.npos)
        tensor = Tensor::from(copy.device(), tensor.shape(), std::vector<float>(size_t(tensor.numel()), std::nanf("")));
  });
  Request r = request_of(cases.at("image_055"));
  const auto wanted = model("xl").generate(r).latents.values;
  for (const bool when_needed : {false, true}) {
    Model poisoned = Model::open(copy.path(), {.precision = Precision::f32, .load_when_needed = when_needed});
    EXPECT_EQ(poisoned.generate(r).latents.values, wanted);
    r.options["clip_skip"] = 1;
    EXPECT_NE(complaint_of([&] { poisoned.generate(r); }).find("text_encoder: "), std::string::npos);
    r.options.erase("clip_skip");
  }
  // In other layers they are found when opening, as usual.
  copy.edit_tensors("text_encoder", [&](NamedTensors& tensors) {
    Tensor& t = tensors.at("text_model.encoder.layers.1.mlp.fc1.bias");
    t = Tensor::from(copy.device(), t.shape(), std::vector<float>(size_t(t.numel()), std::nanf("")));
  });
  EXPECT_NE(complaint_of([&] { Model::open(copy.path()); }).find("non-finite: 'text_model.encoder.layers.1.mlp.fc1.bias'"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth::test
