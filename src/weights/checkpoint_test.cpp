#include "weights/checkpoint.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/json.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::message_of;

fs::path demo_model() { return test::folder_of(__FILE__) / ".." / ".." / "assets" / "demo-model"; }

class CheckpointTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  test::TemporaryFolder folder;

  void index(const std::string& json) { write_file(folder / "model_index.json", json); }
  void component(const std::string& name, const std::vector<std::string>& files, float value = 1, const std::string& tensor = "a") {
    fs::create_directories(folder / name);
    for (const std::string& file : files)
      write_safetensors(folder / name / file, {{tensor, Tensor::from(*device, {1}, std::vector<float>{value})}});
  }
  std::string open_error() {
    return message_of<IoError>([&] { Checkpoint::open(folder.path(), {}); }, folder.path());
  }
};

TEST_F(CheckpointTest, the_demo_model_opens) {
  const Checkpoint demo = Checkpoint::open(demo_model(), {});
  EXPECT_EQ(demo.pipeline_class(), "StableDiffusionPipeline");
  std::map<std::string, std::string> classes;
  for (const Component& c : demo.components()) classes[c.name] = c.class_name;
  EXPECT_EQ(classes, (std::map<std::string, std::string>{{"scheduler", "PNDMScheduler"},
                                                         {"text_encoder", "CLIPTextModel"},
                                                         {"tokenizer", "CLIPTokenizer"},
                                                         {"unet", "UNet2DConditionModel"},
                                                         {"vae", "AutoencoderKL"}}));
  EXPECT_TRUE(demo.has("unet"));
  EXPECT_FALSE(demo.has("safety_checker"));
  EXPECT_FALSE(demo.has("requires_safety_checker"));
  EXPECT_EQ(demo.index().boolean("requires_safety_checker"), false);
  EXPECT_NO_THROW(demo.index().finish());  // components count as read
  EXPECT_EQ(demo.config("unet").text("_class_name"), "UNet2DConditionModel");
  EXPECT_EQ(demo.config("scheduler").text("_class_name"), "PNDMScheduler");
  EXPECT_EQ(demo.config("tokenizer").text("tokenizer_class"), "CLIPTokenizer");
  EXPECT_TRUE(demo.tensors("unet")->has("conv_in.weight"));
  EXPECT_NO_THROW(demo.require_class("unet", {"UNet2DConditionModel"}));
  EXPECT_NE(message_of<UnsupportedError>([&] {
              demo.require_class("vae", {"AutoencoderTiny", "VQModel"});
            }).find("component 'vae' has the class AutoencoderKL, expected AutoencoderTiny, VQModel"),
            std::string::npos);
  EXPECT_NE(message_of<WeightError>([&] {
              demo.config("text_encoder_2");
            }).find("model_index.json has no component 'text_encoder_2', which StableDiffusionPipeline needs"),
            std::string::npos);
}

TEST_F(CheckpointTest, other_folders_are_refused) {
  EXPECT_EQ(open_error(), "FOLDER: the folder is empty, expected a diffusers folder with model_index.json");
  EXPECT_EQ(message_of<IoError>([&] { Checkpoint::open(folder / "none", {}); }, folder.path()), "FOLDER/none: no such file or folder");
  write_file(folder / "x", "");
  EXPECT_EQ(message_of<IoError>([&] { Checkpoint::open(folder / "x", {}); }, folder.path()),
            "FOLDER/x: 0 bytes are too few for a safetensors file");
  EXPECT_EQ(open_error(), "FOLDER: has no model_index.json, which a diffusers folder needs");
}

TEST_F(CheckpointTest, a_broken_index_is_refused) {
  const std::string where = "FOLDER/model_index.json: ";
  index("{\n\"_class_name\": }");
  EXPECT_EQ(open_error(), where + "invalid JSON at line 2");
  index("[]");
  EXPECT_EQ(open_error(), where + "holds a list, expected a JSON object");
  index("{}");
  EXPECT_EQ(message_of<WeightError>([&] { Checkpoint::open(folder.path(), {}); }, folder.path()),
            where + "'_class_name' is missing, expected a string");
  index(R"({"_class_name": "P", "unet": ["diffusers"]})");
  EXPECT_EQ(open_error(), where + "component 'unet' is [\"diffusers\"], expected [library, class]");
  index(R"({"_class_name": "P", "unet": ["diffusers", null]})");
  EXPECT_EQ(open_error(), where + "component 'unet' is [\"diffusers\",null], expected [library, class]");
  index(R"({"_class_name": "P", "../x": ["diffusers", "X"]})");
  EXPECT_EQ(open_error(), where + "'../x' is not a valid component name");
  index(R"({"_class_name": "P", "unet": ["a", "A"], "unet": ["b", "B"]})");
  EXPECT_EQ(open_error(), where + "an object has the key 'unet' twice");
  index(R"({"_class_name": "P", "unet": ["a", "A"], "vae": ["b", "B"], "none": [null, null], "_note": ["c", "C"]})");
  const Checkpoint open = Checkpoint::open(folder.path(), {});
  EXPECT_EQ(open.components().size(), 2u);
  for (const auto& use : {std::function<void()>([&] { open.folder("vae"); }), std::function<void()>([&] { open.config("vae"); }),
                          std::function<void()>([&] { open.tensors("vae", "fp16"); })})
    EXPECT_EQ(message_of<IoError>(use, folder.path()), "FOLDER/vae: no such folder, but model_index.json lists the component 'vae'");
}

TEST_F(CheckpointTest, a_component_without_the_variant_uses_full_precision_when_another_has_it) {
  index(R"({"_class_name": "P", "unet": ["a", "A"], "vae": ["b", "B"]})");
  component("unet", {"diffusion_pytorch_model.fp16.safetensors"}, 2);
  component("vae", {"diffusion_pytorch_model.safetensors"}, 3);
  const Checkpoint c = Checkpoint::open(folder.path(), {});
  EXPECT_EQ(c.tensors("unet", "fp16")->read("a", {1}, *device).to_vector()[0], 2);
  EXPECT_EQ(c.tensors("vae", "fp16")->read("a", {1}, *device).to_vector()[0], 3);
  EXPECT_EQ(c.files("vae", "fp16").variant, "");
  EXPECT_EQ(message_of<IoError>([&] { c.tensors("vae", "bf16"); }, folder.path()),
            "FOLDER/vae: has no weights of the variant 'bf16', only full precision");
  EXPECT_EQ(message_of<IoError>([&] { c.tensors("unet"); }, folder.path()),
            "FOLDER/unet: has no weights in full precision, only the variant 'fp16'");
}

}  // namespace
}  // namespace hearth
