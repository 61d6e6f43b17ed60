#include "e2e/editing_cases_test.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "backends/backends.h"
#include "core/files/json.h"
#include "support/backend_test.h"
#include "support/detached_backend.h"
#include "support/tolerance.h"
#include "weights/seeded.h"

namespace hearth::test {

using Json = nlohmann::json;

EditingCases::EditingCases(const std::string& stem)
    : cases(load_json(golden_folder() / (stem + ".json")).at("cases")),
      file(SafetensorsFile::open(golden_folder() / (stem + ".safetensors"))),
      device(make_backend({.name = "reference", .threads = 1})) {}

Tensor EditingCases::golden(const std::string& name) const { return file->read(name, file->list().at(name).shape, *device); }

Image EditingCases::image(const std::string& kind, int64_t width, int64_t height) const {
  const Tensor x = golden(fmt::format("{}.{}x{}", kind == "image" ? "picture" : kind, width, height));  // the golden file's name for it
  Image image{.width = width, .height = height};
  for (int64_t i = 0; i < x.numel(); ++i) image.rgb.insert(image.rgb.end(), x.shape().rank() == 3 ? 1 : 3, x.data<uint8_t>()[i]);
  return image;
}

Request EditingCases::request_of(const Json& c) const {
  Request r = to_request(c);
  const int64_t W = *r.width, H = *r.height;
  r.decode = false;
  if (c.contains("image_guidance")) r.edit.image_guidance = c.at("image_guidance").get<double>();
  if (c.contains("strength")) r.edit.strength = c.at("strength").get<double>();
  if (c.at("kind") == "control") {
    const Json size = c.value("control_size", Json::array({W, H}));
    r.edit.control_image = image("control", size[0], size[1]);
  }
  const Json references = c.value("references", Json::array());
  for (size_t i = 0; i < references.size(); ++i)
    r.references.push_back({.image = image(fmt::format("reference{}", i), references[i][0], references[i][1]), .name = ""});
  const bool paints = c.at("kind") == "paint" || c.value("with_mask", false);
  if (!paints && !c.value("with_image", false) && c.at("kind") != "image" && c.at("kind") != "told" && c.at("kind") != "depth") return r;
  if (c.value("from_reference", false)) {  // the image is the one that the model edits; it is resized
    r.edit.image = r.references.at(0).image;
    r.edit.mask = image("mask", r.edit.image->width, r.edit.image->height);
    return r;
  }
  if (!c.contains("image_size")) r.width.reset(), r.height.reset();  // those of the image
  const Json size = c.value("image_size", Json::array({W, H})), depth_size = c.value("depth_size", Json::array({W, H}));
  r.edit.image = image("image", size[0], size[1]);
  if (paints) r.edit.mask = image("mask", size[0], size[1]);
  if (c.at("kind") == "depth") r.edit.depth_map = image("depth", depth_size[0], depth_size[1]);
  return r;
}

std::filesystem::path EditingCases::folder_of(const Json& c) {
  const std::string checkpoint = c.at("checkpoint");
  const int64_t channels = c.value("channels", 0);
  if (channels == 0 && !c.contains("pipeline") && !c.contains("edits")) return checkpoint_folder(checkpoint);
  copies_.push_back(std::make_unique<CheckpointCopy>(checkpoint));
  CheckpointCopy& copy = *copies_.back();
  copy.edit_json("model_index.json", [&](Json& index) {
    if (c.contains("pipeline")) index["_class_name"] = c.at("pipeline");
    else if (channels != 0)
      index["_class_name"] = channels == 9 ? "StableDiffusionInpaintPipeline" : "StableDiffusionInstructPix2PixPipeline";
    if (channels == 5) index["depth_estimator"] = {"transformers", "DPTForDepthEstimation"};
  });
  const Json edits = c.value("edits", Json::object());
  for (const auto& [name, values] : edits.items())
    copy.edit_json(name, [&, values = values](Json& config) {
      if (name.starts_with("scheduler") && values.contains("_class_name")) config = values;
      else config.update(values);
    });
  const Json seeded = c.value("seeded", Json::object());
  for (const auto& [component, tensors] : seeded.items())
    copy.edit_tensors(component, [&, tensors = tensors](NamedTensors& all) {
      for (const auto& [name, sides] : tensors.items()) {
        const Shape shape(sides.get<std::vector<int64_t>>());
        all[name] = Tensor::from(copy.device(), shape, seeded_values(name, shape));
      }
    });
  if (channels == 0) return copy.path();
  copy.edit_json("unet/config.json", [&](Json& config) { config["in_channels"] = channels; });
  const std::string name = fmt::format("conv_in.{}", channels), own = checkpoint + "." + name;
  const Tensor weight = golden(file->has(own) ? own : name);
  copy.edit_tensors(
      "unet", [&](NamedTensors& tensors) { tensors["conv_in.weight"] = Tensor::from(copy.device(), weight.shape(), weight.to_vector()); });
  return copy.path();
}

Model& EditingCases::model_of(const Json& c) {
  Json key;
  for (const char* part : {"checkpoint", "channels", "pipeline", "edits", "seeded", "refiner"})
    if (c.contains(part)) key[part] = c.at(part);
  const auto found = models_.find(key.dump());
  if (found != models_.end()) return found->second;
  OpenOptions options{.precision = Precision::f32};
  if (c.contains("refiner")) options.refiner = checkpoint_folder(c.at("refiner"));
  return models_.emplace(key.dump(), Model::open(folder_of(c), options)).first->second;
}

Model& EditingCases::model(const std::string& checkpoint) { return model_of({{"checkpoint", checkpoint}}); }

void EditingCases::expect_golden_latents(double limit) {
  for (const auto& [name, c] : cases.items()) {
    SCOPED_TRACE(name);
    const Generation made = model_of(c).generate(request_of(c));
    const Tensor wanted = golden(name);
    ASSERT_EQ(made.latents.shape, (std::vector<int64_t>{wanted.shape().begin(), wanted.shape().end()}));
    const double error = relative_error(made.latents.values, wanted.to_vector());
    if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s: %.1e\n", name.c_str(), error);
    EXPECT_LE(error, limit);
  }
}

void EditingCases::expect_golden_latents_on_every_backend(const std::vector<std::string>& names, double limit) {
  add_detached_backend();
  for (const std::string backend : {"reference", "detached", "vulkan", "avx2", "avx512"}) {
    const bool path = backend.starts_with("avx");
    if (path ? !cpu_path_available(backend) : !make_test_backend(backend)) continue;
    if (path) ::setenv("HEARTH_CPU", backend.c_str(), 1);
    for (const std::string& name : names) {
      const Json& c = cases.at(name);
      Model model = Model::open(folder_of(c), {.device = path ? "cpu" : backend, .precision = Precision::f32});
      const double error = relative_error(model.generate(request_of(c)).latents.values, golden(name).to_vector());
      if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s %s: %.1e\n", backend.c_str(), name.c_str(), error);
      EXPECT_LE(error, limit) << backend << " " << name;
    }
    ::unsetenv("HEARTH_CPU");
  }
}

void EditingCases::expect_same_in_any_batch_and_after_a_stop(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const Json& c = cases.at(name);
    Request request = request_of(c);
    request.batch_size = 1, request.compat = Compat::hearth;  // each image has a seed of its own
    const auto latents = [&](const std::function<void(Request&)>& change = {}) {
      Request r = request;
      if (change) change(r);
      return model_of(c).generate(r).latents.values;
    };
    const std::vector<float> whole = latents();
    EXPECT_EQ(Model::open(folder_of(c), {.threads = 3, .precision = Precision::f32}).generate(request).latents.values, whole);
    Request first = request;
    first.stop_after = 1;
    const auto state = model_of(c).generate(first).state;
    ASSERT_TRUE(state.has_value());
    EXPECT_EQ(latents([&](Request& r) { r.resume = state; }), whole);
    std::vector<float> both = whole;
    const std::vector<float> second = latents([](Request& r) { r.seed = *r.seed + 1; });
    both.insert(both.end(), second.begin(), second.end());
    EXPECT_EQ(latents([](Request& r) { r.batch_size = 2; }), both);
  }
}

void EditingCases::expect_planned_memory(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    for (const int64_t limit : {int64_t(0), int64_t(2'000'000'000)}) {
      const Json& c = cases.at(name);
      Request r = request_of(c);
      r.decode = true;
      Model model = Model::open(folder_of(c), {.threads = 2, .precision = Precision::f32, .memory_limit = limit});
      const Json memory = Json::parse(model.generate(r).report).at("memory");
      EXPECT_EQ(memory.at("measured").at("peak"), memory.at("planned").at("peak")) << name;
    }
}

}  // namespace hearth::test
