// `hearth list schedules --steps N --model M` prints the sigmas and timesteps of a run of that model.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "e2e/checkpoint_copy.h"
#include "hearth/hearth.h"
#include "support/complaint.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;

// One model of each kind: SD 1, whose configuration is corrected on loading, and its inpainting and depth classes, for which fewer or no
// values are corrected; v-prediction with zero terminal SNR; XL, which is not corrected; EDM and flow schedulers.
struct Kind {
  const char* checkpoint;
  const char* pipeline = "";
  Json scheduler = {};
};

Json edm() {
  return {{"_class_name", "EDMEulerScheduler"},
          {"prediction_type", "epsilon"},
          {"rho", 7.0},
          {"sigma_data", 0.5},
          {"sigma_max", 80.0},
          {"sigma_min", 0.002}};
}

// SD 1's pipeline sets a timestep offset of 1, XL's does not.
Json euler_without_offset() {
  return {{"_class_name", "EulerDiscreteScheduler"}, {"beta_start", 0.00085},         {"beta_end", 0.012},
          {"beta_schedule", "scaled_linear"},        {"timestep_spacing", "leading"}, {"steps_offset", 0}};
}

std::vector<Kind> kinds() {
  return {{"pndm"},
          {"ddim_v"},
          {"ancestral"},
          {"ancestral", "StableDiffusionInpaintPipeline"},
          {"euler"},
          {"dpmpp"},
          {"xl"},
          {"xl_v"},
          {"xl_lcm"},
          {"xl_refiner"},
          {"xl", "", euler_without_offset()},
          {"xl", "", edm()},
          {"xl", "", {{"_class_name", "FlowMatchEulerDiscreteScheduler"}, {"shift", 3.0}}},
          {"sd3"}};
}

void make_one(CheckpointCopy& copy, const Kind& kind) {
  copy.edit_json("model_index.json", [&](Json& index) {
    if (*kind.pipeline) index["_class_name"] = kind.pipeline;
    if (!kind.scheduler.is_null()) index["scheduler"] = {"diffusers", kind.scheduler.at("_class_name")};
  });
  if (!kind.scheduler.is_null()) copy.edit_json("scheduler/scheduler_config.json", [&](Json& file) { file = kind.scheduler; });
}

// As in a report: non-finite values (σ of pure noise) are null.
Json written(const std::vector<double>& values) { return Json::parse(Json(values).dump()); }

// Runs one of twenty steps with each schedule; returns how many are supported.
int64_t compare(Model& model, const std::filesystem::path& path, const std::string& sampler) {
  int64_t ran = 0;
  for (const ScheduleLevels& listed : schedule_levels(path, sampler, 20)) {
    SCOPED_TRACE(listed.name);
    Request r{.prompt = "", .width = 16, .height = 16, .steps = 20, .guidance = 1, .seed = 1, .decode = false};
    r.sampler = sampler, r.schedule = listed.name, r.stop_after = 1;
    const std::string refused = complaint_of([&] {
      const Json levels = Json::parse(model.generate(r).report).at("levels");
      EXPECT_EQ(levels.at("sigmas"), written(listed.sigmas));
      EXPECT_EQ(levels.at("timesteps"), written(listed.timesteps));
      ++ran;
    });
    EXPECT_EQ(refused.empty(), listed.refused.empty()) << refused << listed.refused;
    EXPECT_TRUE(refused.ends_with(listed.refused)) << refused << listed.refused;
  }
  return ran;
}

TEST(ScheduleLevels, are_those_of_the_run) {
  int64_t ran = 0;
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.checkpoint + kind.scheduler.dump());
    CheckpointCopy copy(kind.checkpoint);
    make_one(copy, kind);
    Model model = Model::open(copy.path(), {.precision = Precision::f32});
    for (const char* sampler : {"", "dpmpp_2m"}) ran += compare(model, copy.path(), sampler);
  }
  Model model = Model::open(checkpoint_folder("pndm"), {.precision = Precision::f32});
  for (const char* sampler : {"ddim", "dpm_2", "restart", "dpm_fast"}) ran += compare(model, checkpoint_folder("pndm"), sampler);
  EXPECT_GE(ran, 500);
}

TEST(ScheduleLevels, a1111s_tables_of_an_xl_model_are_those_of_xl) {
  Request r{.prompt = "",
            .width = 16,
            .height = 8,
            .steps = 2,
            .guidance = 1,
            .schedule = "Align Your Steps",
            .seed = 1,
            .compat = Compat::a1111};
  r.sampler = "euler", r.decode = false;
  const auto schedule = [&](const char* checkpoint) {
    return Json::parse(Model::open(checkpoint_folder(checkpoint)).generate(r).report).at("request").at("schedule");
  };
  EXPECT_EQ(schedule("pndm"), "ays_11");
  EXPECT_EQ(schedule("xl"), "ays_sdxl_11");
}

TEST(ScheduleLevels, of_a_sampler_that_chooses_its_own_sigmas) {
  for (const ScheduleLevels& listed : schedule_levels({}, "dpm_adaptive", 5)) EXPECT_FALSE(listed.refused.empty()) << listed.name;
}

}  // namespace
}  // namespace hearth::test
