#include <algorithm>
#include <cstdlib>

#include "e2e/control_cases_test.h"
#include "support/backend_test.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "support/files.h"
#include "support/tolerance.h"

namespace hearth::test {

using Json = nlohmann::json;

std::filesystem::path control_network(const std::string& name) {
  return name.ends_with("_lora") ? of_authors(name) : golden_folder() / "control" / name;
}

std::filesystem::path of_authors(const std::string& name) { return golden_folder() / "control/authors" / (name + ".safetensors"); }

ControlCases::ControlCases(const std::string& stem) : EditingCases(stem) { add_detached_backend(); }

Control ControlCases::control_of(const Json& c) const {
  const int64_t W = c.at("size")[0], H = c.at("size")[1];
  Control control{.path = control_network(c.at("network")),
                  .image = image(fmt::format("control{}", c.at("seed").get<int>()), W, H),
                  .scale = c.value("scale", 1.0),
                  .start = c.value("start", 0.0),
                  .end = c.value("end", 1.0),
                  .mode = c.value("mode", ""),
                  .guess = c.value("guess", false)};
  if (c.value("mask", false)) control.mask = image("mask", W, H);
  return control;
}

Request ControlCases::request(const std::string& name) const {
  const Json& c = cases.at(name);
  Request r = request_of(c);
  r.width = c.at("width").get<int64_t>(), r.height = c.at("height").get<int64_t>();
  for (const Json& control : c.at("controls")) r.controls.push_back(control_of(control));
  return r;
}

Model ControlCases::open(const std::string& name, OpenOptions options) {
  options.precision = Precision::f32;
  return Model::open(folder_of(cases.at(name)), options);
}

std::string ControlCases::complaint(const std::string& name, const std::function<void(Request&)>& change) {
  Request r = request(name);
  change(r);
  return complaint_of([&] { model_of(cases.at(name)).generate(r); });
}

void ControlCases::expect_latents_of_diffusers(double limit) {
  for (const auto& [name, c] : cases.items()) {
    SCOPED_TRACE(name);
    const double error = relative_error(latents(opened(c), request(name)), golden(name).to_vector());
    if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s: %.1e\n", name.c_str(), error);
    EXPECT_LE(error, limit);
  }
}

void ControlCases::expect_the_same_on_other_devices(const std::vector<std::string>& names, double limit) {
  for (const char* device_name : {"reference", "detached", "vulkan"})
    for (const std::string& name : names) {
      if (!make_test_backend(device_name)) continue;
      Model m = open(name, {.device = device_name});
      EXPECT_LE(relative_error(latents(m, request(name)), golden(name).to_vector()), limit) << device_name << " " << name;
    }
}

void ControlCases::expect_that_each_acts_in_any_order(const std::string& name) {
  SCOPED_TRACE(name);
  Model& m = model_of(cases.at(name));
  Request r = request(name);
  r.compat = Compat::hearth;  // diffusers draws in the order of the request
  const std::vector<float> both = latents(m, r);
  std::swap(r.controls[0], r.controls[1]);
  EXPECT_EQ(latents(m, r), both);
  Request one = r;
  one.controls.pop_back();
  const std::vector<float> alone = latents(m, one);
  EXPECT_GE(relative_error(both, alone), 1e-3);
  r.controls[1].scale = 0;
  EXPECT_EQ(latents(m, r), alone);
  r.controls[0].scale = 0;
  const std::vector<float> none = latents(m, r);
  r.controls.clear();
  EXPECT_EQ(latents(m, r), none);
  EXPECT_GE(relative_error(none, alone), 1e-3);
}

void ControlCases::expect_a_batch_of_single_images(const std::string& name) {
  SCOPED_TRACE(name);
  Request r = request(name);
  Model one = open(name, {.threads = 1});
  const std::vector<float> both = latents(one, r);
  EXPECT_EQ(latents(model_of(cases.at(name)), r), both);
  r.batch_size = 1;
  const std::vector<float> first = latents(one, r);
  r.seed = *r.seed + 1;
  const std::vector<float> second = latents(one, r);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), both.begin()));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), both.end() - std::ptrdiff_t(second.size())));
}

void ControlCases::expect_resumed(const std::string& name) {
  SCOPED_TRACE(name);
  Model& m = model_of(cases.at(name));
  Request r = request(name);
  const std::vector<float> whole = latents(m, r);
  r.stop_after = 3;
  Request rest = request(name);
  rest.resume = m.generate(r).state;
  EXPECT_EQ(latents(m, rest), whole);
}

void ControlCases::expect_a_second_pass(const std::string& name) {
  SCOPED_TRACE(name);
  Model& m = model_of(cases.at(name));
  Request hires = request(name);
  hires.hires = Hires{.scale = 1.5, .steps = 3};
  const Generation made = m.generate(hires);
  Request plain = hires;
  plain.controls.clear();
  EXPECT_GE(relative_error(made.latents.values, latents(m, plain)), 1e-3);
  Model tight = open(name, {.memory_limit = int64_t(2'000'000'000)});
  EXPECT_EQ(latents(tight, hires), made.latents.values);
  const Json memory = Json::parse(made.report).at("memory");
  const int64_t planned = memory.at("planned").at("peak"), measured = memory.at("measured").at("peak");
  EXPECT_GE(measured, planned);
  EXPECT_LE(measured, planned + 3'000'000);
}

void ControlCases::expect_planned(const std::string& name) {
  SCOPED_TRACE(name);
  Model tight = open(name, {.memory_limit = int64_t(2'000'000'000)});
  const Json memory = Json::parse(tight.generate(request(name)).report).at("memory");
  EXPECT_EQ(memory.at("measured").at("peak"), memory.at("planned").at("peak"));
}

void ControlCases::expect_same_bits_of(const std::string& name, const std::filesystem::path& file) {
  SCOPED_TRACE(name);
  Request r = request(name);
  Model& m = model_of(cases.at(name));
  const std::vector<float> wanted = latents(m, r);
  r.controls[0].path = file;
  EXPECT_EQ(latents(m, r), wanted) << file;
}

void ControlCases::expect_same_bits_without_a_configuration(const std::vector<std::string>& names) {
  const TemporaryFolder folder;
  for (const std::string& name : names) {
    const std::filesystem::path own = folder.path() / (name + ".safetensors");
    std::filesystem::copy_file(request(name).controls[0].path / "diffusion_pytorch_model.safetensors", own);
    expect_same_bits_of(name, own);
  }
}

void ControlCases::expect_refused(const std::string& name, const std::function<void(Request&)>& change, const std::string& wanted) {
  const std::string message = complaint(name, change);
  EXPECT_NE(message.find(wanted), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

}  // namespace hearth::test
