// hearth inspect: describes a path and reports whether it can run.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "e2e/checkpoint_copy.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;

TEST(Inspect, a_whole_checkpoint_is_usable) {
  const std::map<std::string, std::string> families = {{"ddim_v", "sd2"}, {"xl", "sdxl"}, {"xl_refiner", "sdxl_refiner"}};
  for (const char* checkpoint : {"pndm", "ddim_v", "euler", "dpmpp", "ancestral", "demo", "xl", "xl_lcm", "xl_v", "xl_refiner"}) {
    const Inspection found = inspect(checkpoint_folder(checkpoint));
    EXPECT_TRUE(found.usable) << found.text;
    const Json json = Json::parse(found.json);
    const auto named = families.find(checkpoint);
    EXPECT_EQ(json.at("family"), named != families.end() ? named->second : std::string(checkpoint).starts_with("xl") ? "sdxl" : "sd1");
    EXPECT_EQ(json.at("problems"), Json::array());
    EXPECT_NE(found.text.find("complete: every tensor is present and used"), std::string::npos) << found.text;
  }
}

TEST(Inspect, what_is_missing_misshapen_or_unread_is_named_per_component) {
  CheckpointCopy copy("pndm");
  copy.edit_tensors("unet", [&](NamedTensors& tensors) {
    tensors.erase("conv_out.bias");
    tensors["surplus"] = Tensor::zeros(copy.device(), {2});
  });
  copy.edit_json("vae/config.json", [](Json& json) { json["layers_per_block"] = 2; });
  const Inspection found = inspect(copy.path());
  EXPECT_FALSE(found.usable);
  std::map<std::string, std::string> problems;
  const Json json = Json::parse(found.json);
  for (const Json& p : json.at("problems")) problems[p.at("component")] = p.at("problem");
  ASSERT_EQ(problems.size(), 2u) << found.text;
  EXPECT_NE(problems.at("unet").find("conv_out.bias"), std::string::npos);
  EXPECT_NE(problems.at("unet").find("surplus"), std::string::npos);
  EXPECT_NE(problems.at("vae").find("resnets.1"), std::string::npos);
  for (const auto& [component, problem] : problems) EXPECT_NE(found.text.find(problem), std::string::npos);
}

TEST(Inspect, a_problem_is_reported_once_for_its_component) {
  const auto problems = [](const CheckpointCopy& copy) {
    std::map<std::string, std::string> found;
    const Json json = Json::parse(inspect(copy.path()).json);
    for (const Json& p : json.at("problems")) found[p.at("component")] = p.at("problem");
    return found;
  };
  const std::pair<const char*, const char*> files[] = {{"text_encoder", "text_encoder/config.json"},
                                                       {"unet", "unet/config.json"},
                                                       {"vae", "vae/config.json"},
                                                       {"tokenizer", "tokenizer/vocab.json"},
                                                       {"scheduler", "scheduler/scheduler_config.json"}};
  for (const auto& [component, file] : files) {
    CheckpointCopy copy("pndm");
    std::ofstream(copy.path() / file) << "{\"a\": ";
    const auto found = problems(copy);
    ASSERT_EQ(found.size(), 1u) << component;
    EXPECT_NE(found.at(component).find(file), std::string::npos) << found.at(component);
  }
  CheckpointCopy copy("euler");
  copy.edit_json("tokenizer/tokenizer_config.json", [](Json& json) { json["model_max_length"] = 77; });
  const auto found = problems(copy);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found.at("checkpoint").find("77 ids per prompt"), std::string::npos);
}

TEST(Inspect, unknown_pipelines_are_not_usable) {
  CheckpointCopy copy("pndm");
  copy.edit_json("model_index.json", [](Json& json) { json["_class_name"] = "KandinskyPipeline"; });
  const Inspection found = inspect(copy.path());
  EXPECT_FALSE(found.usable);
  EXPECT_TRUE(Json::parse(found.json).at("family").is_null());
  EXPECT_NE(found.text.find("'KandinskyPipeline' is not supported"), std::string::npos) << found.text;
}

TEST(Inspect, single_components_are_described_but_not_usable) {
  for (const auto& path : {checkpoint_folder("pndm") / "unet", checkpoint_folder("pndm") / "vae/diffusion_pytorch_model.safetensors"}) {
    const Inspection found = inspect(path);
    EXPECT_FALSE(found.usable);
    EXPECT_FALSE(found.text.empty());
    EXPECT_FALSE(Json::parse(found.json).contains("family"));
  }
  EXPECT_THROW(inspect(checkpoint_folder("none")), IoError);
}

TEST(Inspect, an_image_reports_its_metadata) {
  TemporaryFolder folder;
  const Generation made =
      Model::open(checkpoint_folder("pndm")).generate({.prompt = "a cat", .width = 16, .height = 8, .steps = 1, .seed = 3});
  made.images[0].save(folder / "cat.png");
  const Inspection found = inspect(folder / "cat.png");
  EXPECT_FALSE(found.usable);
  EXPECT_NE(found.text.find("16×8"), std::string::npos);
  EXPECT_NE(found.text.find("a cat\nSteps: 1, Sampler: PLMS"), std::string::npos) << found.text;
  const Json json = Json::parse(found.json);
  EXPECT_EQ(json.at("kind"), "image");
  EXPECT_EQ(json.at("hearth").at("seed"), 3);
  Image bare = made.images[0];
  bare.parameters.clear();
  bare.json.clear();
  bare.save(folder / "bare.png");
  EXPECT_NE(inspect(folder / "bare.png").text.find("No generation metadata"), std::string::npos);
}

}  // namespace
}  // namespace hearth::test
