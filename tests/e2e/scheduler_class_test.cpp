// Every scheduler class that diffusers' StableDiffusionPipeline accepts, as the checkpoint's own (cases: golden/make_classes.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "e2e/checkpoint_copy.h"
#include "support/tolerance.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::test {
namespace {

using nlohmann::json;

void set_scheduler(CheckpointCopy& copy, const std::string& class_name, const json& config) {
  copy.edit_json("model_index.json", [&](json& index) { index["scheduler"] = {"diffusers", class_name}; });
  copy.edit_json("scheduler/scheduler_config.json", [&](json& file) { file = config; });
}

Generation generate(const CheckpointCopy& copy, int64_t steps) {
  Model model = Model::open(copy.path(), {.precision = Precision::f32});
  return model.generate(
      {.prompt = "a red house on green hills", .width = 32, .height = 24, .steps = steps, .guidance = 3, .seed = 7, .decode = false});
}

TEST(SchedulerClasses, latents_are_the_references) {
  const auto device = make_backend({.name = "reference", .threads = 1});
  const auto file = SafetensorsFile::open(golden_folder() / "classes.safetensors");
  double worst = 0;
  for (const auto& [name, entry] : file->list()) {
    SCOPED_TRACE(name);
    const size_t bar = name.find('|'), second = name.find('|', bar + 1);
    CheckpointCopy copy("pndm");
    set_scheduler(copy, name.substr(0, bar), json::parse(name.substr(second + 1)));
    const Generation made = generate(copy, std::stoll(name.substr(bar + 1)));
    const double error = relative_error(made.latents.values, file->read(name, entry.shape, *device).to_vector());
    EXPECT_LE(error, 5e-5);
    worst = std::max(worst, error);
  }
  RecordProperty("worst", std::to_string(worst));
}

// Its Brownian noise differs from diffusers'; the run is otherwise that of the class.
TEST(SchedulerClasses, the_sde_class_adds_noise) {
  CheckpointCopy copy("pndm");
  set_scheduler(copy, "DPMSolverSDEScheduler", {{"beta_start", 0.00085}, {"beta_end", 0.012}, {"beta_schedule", "scaled_linear"}});
  const json report = json::parse(generate(copy, 4).report);
  EXPECT_EQ(report.at("request").at("sampler"), "dpmpp_sde");
  EXPECT_EQ(report.at("network_calls"), 7);
}

}  // namespace
}  // namespace hearth::test
