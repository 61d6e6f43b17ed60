// ControlNets of Hunyuan-DiT, Z-Image and SANA, compared with diffusers (golden/make_control_hunyuan.py, make_control_z_image.py and
// make_control_sana.py).
#include <cstdlib>

#include "e2e/control_cases_test.h"
#include "hearth/rerun.h"
#include "support/files.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

struct HunyuanControls : ControlCases {
  HunyuanControls() : ControlCases("control_hunyuan") {}
};

TEST_F(HunyuanControls, latents_are_those_of_diffusers) { expect_latents_of_diffusers(3e-5); }  // observed 4.5e-8 to 3.2e-6
TEST_F(HunyuanControls, latents_are_those_of_diffusers_on_other_devices) {
  expect_the_same_on_other_devices({"hunyuan_11", "hunyuan_12_half"}, 5e-5);
}
TEST_F(HunyuanControls, scale_zero_order_and_removal) { expect_that_each_acts_in_any_order("hunyuan_12_two"); }
TEST_F(HunyuanControls, a_batch_equals_single_images) { expect_a_batch_of_single_images("hunyuan_12_batch"); }
TEST_F(HunyuanControls, a_run_resumes_and_is_planned) { expect_resumed("hunyuan_12_window"), expect_a_second_pass("hunyuan_12_window"); }

TEST_F(HunyuanControls, single_files_give_the_bits_of_the_folder) {
  expect_same_bits_without_a_configuration({"hunyuan_11", "hunyuan_12"});
  expect_same_bits_of("hunyuan_11", of_authors("hunyuan_11_canny"));
}

TEST_F(HunyuanControls, what_does_not_fit_is_refused) {
  expect_refused("hunyuan_11", with_network(control_network("sd3_pose")),
                 "is a SD3ControlNetModel for Stable Diffusion 3, expected a control network for Hunyuan-DiT");
  expect_refused(
      "hunyuan_11", with_network(control_network("hunyuan_12_pose")),
      "is for a transformer with width 16, 4 blocks, patches of 2, 4 latent channels, texts 12 and 16 of 77 and 256 rows, without "
      "sizes and style; the model's has width 16, 6 blocks");
  expect_refused(
      "hunyuan_12", [](Request& r) { r.controls[0].mode = "canny"; }, "is for one kind of images, expected no mode");
  expect_refused(
      "hunyuan_12", [](Request& r) { r.controls[0].guess = true; }, "guess mode is for ControlNets of a UNet");
  expect_refused(
      "hunyuan_12", [&](Request& r) { r.controls[0].mask = r.controls[0].image; }, "sees a whole image, expected no mask");
}

struct ZImageControls : ControlCases {
  ZImageControls() : ControlCases("control_z_image") {}
};

TEST_F(ZImageControls, latents_are_those_of_diffusers) { expect_latents_of_diffusers(2e-5); }  // observed 5.4e-7 to 7.0e-6
TEST_F(ZImageControls, latents_are_those_of_diffusers_on_other_devices) {
  expect_the_same_on_other_devices({"v1", "v20_tall", "v21", "fill_21", "mu", "fill_mu"}, 5e-5);
}
TEST_F(ZImageControls, a_batch_equals_single_images) {
  expect_a_batch_of_single_images("v1_batch");
  cases["fill_20"]["batch"] = 2;  // the reference fails
  expect_a_batch_of_single_images("fill_20");
}
TEST_F(ZImageControls, a_run_resumes_and_is_planned) { expect_resumed("v1_window"), expect_a_second_pass("v1_window"); }

TEST_F(ZImageControls, a_run_that_fills_resumes) { expect_resumed("fill_21_turbo"); }
TEST_F(ZImageControls, a_run_that_fills_is_planned) { expect_planned("fill_21_turbo"); }

// With diffusers' settings all pixels are the network's; else those that the mask keeps are the image's.
TEST_F(ZImageControls, images_that_are_filled_are_those_of_diffusers) {
  for (const auto& [name, c] : cases.items()) {
    if (!c.contains("image_golden")) continue;
    SCOPED_TRACE(name);
    Request r = request(name);
    r.decode = true, r.compat = Compat::diffusers;
    const Image filled = model_of(c).generate(r).images.at(0);
    const Tensor wanted = golden(c.at("image_golden"));
    ASSERT_EQ(filled.rgb.size(), size_t(wanted.numel()));
    for (size_t i = 0; i < filled.rgb.size(); ++i) ASSERT_LE(std::abs(filled.rgb[i] - wanted.data<uint8_t>()[i]), 1) << i;
  }
  Request r = request("fill_21");
  r.decode = true;
  const Image filled = model_of(cases.at("fill_21")).generate(r).images.at(0);
  for (size_t i = 0; i < filled.rgb.size(); ++i)
    if (r.edit.mask->rgb[i] == 0) { ASSERT_EQ(filled.rgb[i], r.edit.image->rgb[i]) << i; }
}

// The network sees the mask and what it keeps of the image, not what it covers.
TEST_F(ZImageControls, a_network_that_fills_sees_what_the_mask_keeps) {
  Model& m = model_of(cases.at("fill_20"));
  const std::vector<float> wanted = latents(m, request("fill_20"));
  const auto changed = [&](bool under_the_mask) {
    Request r = request("fill_20");
    for (size_t i = 0; i < r.edit.image->rgb.size(); ++i)
      if ((r.edit.mask->rgb[i] >= 128) == under_the_mask) r.edit.image->rgb[i] = uint8_t(255 - r.edit.image->rgb[i]);
    return latents(m, r);
  };
  EXPECT_EQ(changed(true), wanted);
  EXPECT_GE(relative_error(changed(false), wanted), 1e-3);
  Request inverted = request("fill_20");
  inverted.edit.mask_invert = true;
  EXPECT_GE(relative_error(latents(m, inverted), wanted), 1e-3);
}

// A network that does not see the image, or adds nothing, leaves a run that restores the unmasked part.
TEST_F(ZImageControls, without_a_network_that_fills_the_unmasked_part_is_restored) {
  Model& m = model_of(cases.at("fill_20"));
  Request plain = request("fill_20");
  plain.controls.clear();
  const std::vector<float> restored = latents(m, plain);
  Request r = request("fill_20");
  r.controls[0].scale = 0;
  EXPECT_EQ(latents(m, r), restored);
  r = request("fill_20");
  r.controls[0].path = control_network("z_image_v1");
  const std::vector<float> guided = latents(m, r);
  EXPECT_GE(relative_error(guided, restored), 1e-3);
  const Tensor mask = golden("mask.64x48");
  const auto kept = [&](const std::vector<float>& values) {  // [4, 6, 8]
    std::vector<float> some;
    for (int64_t i = 0; i < std::ssize(values); ++i)
      if (mask.data<uint8_t>()[(i % 48) / 8 * 8 * 64 + i % 8 * 8] < 128) some.push_back(values[size_t(i)]);
    return some;
  };
  EXPECT_EQ(kept(guided), kept(restored));
  EXPECT_NE(kept(latents(m, request("fill_20"))), kept(restored));
}

TEST_F(ZImageControls, metadata_can_fill_again) {
  const TemporaryFolder folder;
  const auto saved = [&](const Image& image, const char* name) {
    image.save(folder / name);
    return (folder / name).string();
  };
  Request r = request("fill_20");
  r.decode = true;
  r.controls[0].image_name = saved(r.controls[0].image, "pose.png");
  r.edit.image_name = saved(*r.edit.image, "image.png"), r.edit.mask_name = saved(*r.edit.mask, "mask.png");
  const Image first = model_of(cases.at("fill_20")).generate(r).images.at(0);
  first.save(folder / "made.png");
  const Rerun rerun = rerun_of(folder / "made.png");
  ASSERT_EQ(rerun.images.size(), 3u);
  for (const auto& image : rerun.images) EXPECT_EQ(image.sha256, pixels_sum(image.file)) << image.file;
}

// The reference has one network; here those of a run are added, where they add to the same layers and where not.
TEST_F(ZImageControls, scale_zero_order_and_removal) {
  cases["two"] = cases.at("v21");
  cases["two"]["controls"].push_back(cases.at("v1").at("controls")[0]);
  expect_that_each_acts_in_any_order("two");
}

// Published files have no configuration.
TEST_F(ZImageControls, single_files_give_the_bits_of_the_folder) {
  expect_same_bits_without_a_configuration({"v20", "v21", "mu"});
  expect_same_bits_of("v20", of_authors("z_image_v20"));
  expect_same_bits_of("v21", of_authors("z_image_v21"));
}

TEST_F(ZImageControls, what_does_not_fit_is_refused) {
  expect_refused("v1", with_network(control_network("hunyuan_11_canny")),
                 "is a HunyuanDiT2DControlNetModel for Hunyuan-DiT, expected a control network for Z-Image");
  expect_refused("v1", with_network(control_network("z_image_mu")),
                 "is for a transformer with width 16 in 2 heads; the model's has width 24 in 2 heads");
  expect_refused(
      "v1", [](Request& r) { r.controls[0].mode = "canny"; }, "tells kinds of images apart by itself, expected no mode");
  expect_refused(
      "v1", [](Request& r) { r.controls[0].guess = true; }, "guess mode is for ControlNets of a UNet");
  expect_refused(
      "v1", [&](Request& r) { r.controls[0].mask = r.controls[0].image; }, "sees a whole image, expected no mask");
  expect_refused(
      "v21", [&](Request& r) { r.controls[0].mask = r.controls[0].image; },
      "fills the image that a run starts from, expected --init-image and --mask in place of mask=FILE");
  expect_refused(
      "fill_21", [](Request& r) { r.edit.image.reset(); }, "a mask without an image, expected --init-image");
  expect_refused(
      "fill_21", [](Request& r) { r.edit.mask = Image{.width = 8, .height = 8, .rgb = std::vector<uint8_t>(192)}; },
      "the mask is 8×8, the image 64×48, expected equal sizes");
  expect_refused(
      "fill_21", [](Request& r) { r.hires = Hires{.scale = 1.5}; }, "a second pass cannot be combined with a mask");
}

struct SanaControls : ControlCases {
  SanaControls() : ControlCases("control_sana") {}
};

TEST_F(SanaControls, latents_are_those_of_diffusers) { expect_latents_of_diffusers(1e-5); }  // observed 5.1e-7 to 1.2e-6
TEST_F(SanaControls, latents_are_those_of_diffusers_on_other_devices) {
  expect_the_same_on_other_devices({"sana", "long", "sana_15"}, 5e-5);
}
TEST_F(SanaControls, a_batch_equals_single_images) { expect_a_batch_of_single_images("batch"); }
TEST_F(SanaControls, a_run_resumes_and_is_planned) { expect_resumed("window"), expect_a_second_pass("window"); }

// The reference has one network; here those of a run are added.
TEST_F(SanaControls, scale_zero_order_and_removal) {
  cases["two"] = cases.at("long");
  cases["two"]["controls"].push_back(cases.at("sana").at("controls")[0]);
  expect_that_each_acts_in_any_order("two");
}

TEST_F(SanaControls, single_files_give_the_bits_of_the_folder) { expect_same_bits_without_a_configuration({"sana", "sana_15"}); }

TEST_F(SanaControls, what_does_not_fit_is_refused) {
  expect_refused("sana", with_network(control_network("z_image_v1")),
                 "is a ZImageControlNetModel for Z-Image, expected a control network for SANA");
  expect_refused(
      "sana", [](Request& r) { r.controls[0].mode = "canny"; }, "is for one kind of images, expected no mode");
  expect_refused(
      "sana", [](Request& r) { r.controls[0].guess = true; }, "guess mode is for ControlNets of a UNet");
  cases["sprint"] = cases.at("sana");
  cases["sprint"]["checkpoint"] = "sana_sprint";
  expect_refused(
      "sprint", [](Request&) {}, "control networks are for SANA, expected a model that is not SANA-Sprint");
}

}  // namespace
}  // namespace hearth::test
