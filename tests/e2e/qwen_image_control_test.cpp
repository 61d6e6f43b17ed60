// ControlNets of Qwen-Image, compared with diffusers (golden/make_qwen_image_control.py), and what they refuse.
#include <algorithm>
#include <cstdlib>

#include "e2e/control_cases_test.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "support/files.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct QwenImageControls : testing::Test, ControlCases {
  QwenImageControls() : ControlCases("qwen_image_control") { add_detached_backend(); }

  std::vector<float> made(const char* name, const std::function<void(Request&)>& change = {}) {
    Request r = request(name);
    if (change) change(r);
    return latents(model_of(cases.at(name)), r);
  }
};

TEST_F(QwenImageControls, latents_are_those_of_diffusers) {
  for (const auto& [name, c] : cases.items()) {
    SCOPED_TRACE(name);
    const double error = relative_error(latents(model_of(c), request(name)), golden(name).to_vector());
    if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s: %.1e\n", name.c_str(), error);
    EXPECT_LE(error, 2e-5);  // observed 1.2e-6 to 2.6e-6
  }
}

TEST_F(QwenImageControls, latents_are_those_of_diffusers_on_other_devices) {
  for (const char* name_of_device : {"reference", "detached"}) {
    Model m = Model::open(folder_of(cases.at("union")), {.device = name_of_device, .precision = Precision::f32});
    for (const char* name : {"union", "window", "two", "fill", "paint"})
      EXPECT_LE(relative_error(latents(m, request(name)), golden(name).to_vector()), 2e-5) << name_of_device << " " << name;
  }
}

// Each control acts: without it, the result is another one.
TEST_F(QwenImageControls, scale_zero_order_and_removal_change_no_bit) {
  const auto hearth_s = [](Request& r) { r.compat = Compat::hearth; };  // diffusers draws in the order of the request
  const std::vector<float> both = made("two_networks", hearth_s),
                           alone = made("two_networks", [&](Request&r) { hearth_s(r), r.controls.pop_back(); });
  EXPECT_GE(relative_error(both, alone), 1e-3);
  EXPECT_EQ(made("two_networks",
                 [&](Request& r) {
                   hearth_s(r);
                   std::swap(r.controls[0], r.controls[1]);
                 }),
            both);
  EXPECT_EQ(made("two_networks",
                 [&](Request& r) {
                   hearth_s(r);
                   r.controls[1].scale = 0;
                 }),
            alone);
  const std::vector<float> none = made("two_networks", [&](Request& r) { hearth_s(r), r.controls.clear(); });
  EXPECT_GE(relative_error(alone, none), 1e-3);
}

TEST_F(QwenImageControls, a_batch_equals_single_images_and_threads_change_nothing) {
  for (const char* name : {"batch", "fill_batch"}) {
    SCOPED_TRACE(name);
    Request r = request(name);
    Model one = Model::open(folder_of(cases.at(name)), {.threads = 1, .precision = Precision::f32});
    const std::vector<float> both = latents(one, r);
    EXPECT_EQ(latents(model_of(cases.at(name)), r), both);
    r.batch_size = 1;
    const std::vector<float> first = latents(one, r);
    r.seed = *r.seed + 1;
    const std::vector<float> second = latents(one, r);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), both.begin()));
    EXPECT_TRUE(std::equal(second.begin(), second.end(), both.begin() + std::ptrdiff_t(first.size())));
  }
}

TEST_F(QwenImageControls, a_run_resumes_and_has_a_second_pass) {
  Model& m = model_of(cases.at("window"));
  Request r = request("window");
  const std::vector<float> whole = latents(m, r);
  r.stop_after = 3;
  Request rest = request("window");
  rest.resume = m.generate(r).state;
  EXPECT_EQ(latents(m, rest), whole);
  Request hires = request("window");
  hires.hires = Hires{.scale = 1.5, .steps = 3};
  hires.width = 64, hires.height = 64;
  const Generation made = m.generate(hires);
  Request plain = hires;
  plain.controls.clear();
  EXPECT_GE(relative_error(made.latents.values, latents(m, plain)), 1e-3);
}

TEST_F(QwenImageControls, memory_is_planned_before_the_run) {
  for (const char* name : {"union", "half", "fill", "batch"}) {
    SCOPED_TRACE(name);
    Model tight = Model::open(folder_of(cases.at(name)), {.precision = Precision::f32, .memory_limit = int64_t(2'000'000'000)});
    const Json memory = Json::parse(tight.generate(request(name)).report).at("memory");
    EXPECT_EQ(memory.at("measured").at("peak"), memory.at("planned").at("peak"));
  }
}

// As ComfyUI's users have them: a file without a configuration.
TEST_F(QwenImageControls, single_files_give_the_bits_of_the_folders) {
  const TemporaryFolder folder;
  for (const char* name : {"union", "deep", "fill"}) {
    SCOPED_TRACE(name);
    const std::vector<float> wanted = made(name);
    const fs::path own = folder.path() / (std::string(name) + ".safetensors");
    EXPECT_EQ(made(name,
                   [&](Request& r) {
                     fs::copy_file(r.controls[0].path / "diffusion_pytorch_model.safetensors", own);
                     r.controls[0].path = own;
                   }),
              wanted);
  }
}

TEST_F(QwenImageControls, what_does_not_fit_is_refused_in_one_line) {
  const auto expect = [&](const char* name, const std::function<void(Request&)>& change, const std::string& wanted) {
    const std::string said = complaint_of([&] { made(name, change); });
    EXPECT_NE(said.find(wanted), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), said.npos) << said;
  };
  const auto path = [](const fs::path& to) { return [to](Request& r) { r.controls[0].path = to; }; };
  expect("union", path(control_network("flux_canny")), "is a FluxControlNetModel for FLUX.1, expected a control network for Qwen-Image");
  expect("union", path(control_network("qwen_wide")),
         "is for a transformer with width 36 in 3 heads, axes 4, 4, 4, 16 input channels, text 24; the model's has width 24 in 2 heads");
  expect(
      "union", [](Request& r) { r.controls[0].mode = "canny"; }, "tells kinds of images apart by itself, expected no mode, not 'canny'");
  expect(
      "union", [](Request& r) { r.controls[0].guess = true; }, "guess mode is for ControlNets of a UNet");
  expect(
      "fill", [](Request& r) { r.controls[0].mask.reset(); }, "fills what a mask covers, expected mask=FILE");
  expect(
      "union", [&](Request& r) { r.controls[0].mask = image("mask", 64, 64); }, "sees a whole image, expected no mask");
  const TemporaryFolder folder;
  const fs::path whole = control_network("qwen_union") / "diffusion_pytorch_model.safetensors", cut = folder / "cut.safetensors";
  fs::copy_file(whole, cut);
  fs::permissions(cut, fs::perms::owner_write, fs::perm_options::add);
  fs::resize_file(cut, fs::file_size(whole) - 8);
  expect("union", path(cut), "cut.safetensors");

  EditingCases edits("qwen_image_edit");
  const Json& edit = edits.cases.begin().value();
  Request r = edits.request_of(edit);
  r.controls = request("union").controls;
  const std::string said = complaint_of([&] { edits.model_of(edit).generate(r); });
  EXPECT_NE(said.find("cannot be combined with reference images"), std::string::npos) << said;
}

}  // namespace
}  // namespace hearth::test
