// ControlNets of Qwen-Image, compared with diffusers (golden/make_qwen_image_control.py), and what they refuse.
#include "e2e/control_cases_test.h"
#include "support/complaint.h"
#include "support/files.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;

struct QwenImageControls : ControlCases {
  QwenImageControls() : ControlCases("qwen_image_control") {}
};

TEST_F(QwenImageControls, latents_are_those_of_diffusers) { expect_latents_of_diffusers(2e-5); }  // observed 1.2e-6 to 2.6e-6
TEST_F(QwenImageControls, latents_are_those_of_diffusers_on_other_devices) {
  expect_the_same_on_other_devices({"union", "window", "two", "fill", "paint"}, 2e-5);
}
TEST_F(QwenImageControls, scale_zero_order_and_removal_change_no_bit) { expect_that_each_acts_in_any_order("two_networks"); }
TEST_F(QwenImageControls, a_batch_equals_single_images_and_threads_change_nothing) {
  for (const char* name : {"batch", "fill_batch"}) expect_a_batch_of_single_images(name);
}
TEST_F(QwenImageControls, a_run_resumes_and_has_a_second_pass) { expect_resumed("window"), expect_a_second_pass("window"); }
TEST_F(QwenImageControls, memory_is_planned_before_the_run) {
  for (const char* name : {"union", "half", "fill", "batch"}) expect_planned(name);
}

// As ComfyUI's users have them: a file without a configuration.
TEST_F(QwenImageControls, single_files_give_the_bits_of_the_folders) {
  expect_same_bits_without_a_configuration({"union", "deep", "fill"});
}

TEST_F(QwenImageControls, what_does_not_fit_is_refused_in_one_line) {
  expect_refused("union", with_network(control_network("flux_canny")),
                 "is a FluxControlNetModel for FLUX.1, expected a control network for Qwen-Image");
  expect_refused(
      "union", with_network(control_network("qwen_wide")),
      "is for a transformer with width 36 in 3 heads, axes 4, 4, 4, 16 input channels, text 24; the model's has width 24 in 2 heads");
  expect_refused(
      "union", [](Request& r) { r.controls[0].mode = "canny"; }, "tells kinds of images apart by itself, expected no mode, not 'canny'");
  expect_refused(
      "union", [](Request& r) { r.controls[0].guess = true; }, "guess mode is for ControlNets of a UNet");
  expect_refused(
      "fill", [](Request& r) { r.controls[0].mask.reset(); }, "fills what a mask covers, expected mask=FILE");
  expect_refused(
      "union", [&](Request& r) { r.controls[0].mask = image("mask", 64, 64); }, "sees a whole image, expected no mask");
  const TemporaryFolder folder;
  const fs::path whole = control_network("qwen_union") / "diffusion_pytorch_model.safetensors", cut = folder / "cut.safetensors";
  fs::copy_file(whole, cut);
  fs::permissions(cut, fs::perms::owner_write, fs::perm_options::add);
  fs::resize_file(cut, fs::file_size(whole) - 8);
  expect_refused("union", with_network(cut), "cut.safetensors");

  EditingCases edits("qwen_image_edit");
  const nlohmann::json& edit = edits.cases.begin().value();
  Request r = edits.request_of(edit);
  r.controls = request("union").controls;
  const std::string said = complaint_of([&] { edits.model_of(edit).generate(r); });
  EXPECT_NE(said.find("cannot be combined with reference images"), std::string::npos) << said;
}

}  // namespace
}  // namespace hearth::test
