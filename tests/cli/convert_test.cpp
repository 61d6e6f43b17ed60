// hearth convert, as a process. What it writes is checked in tests/e2e/single_file_test.cpp.
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "core/files/file.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string demo = HEARTH_SOURCE_DIR "/assets/demo-model";

class ConvertTest : public CommandTest {};

TEST_F(ConvertTest, converts_to_a_single_file_and_back) {
  const Ended text = run({"convert", "-m", demo, "-o", "one.safetensors", "--layout", "single", "--dtype", "f16"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out.find("one.safetensors: StableDiffusionPipeline, 4711027 parameters in 550 tensors (550 f16), "), 0u) << text.out;
  EXPECT_NE(text.err.find("hearth: note: no published model has this UNet's architecture"), std::string::npos) << text.err;
  const Ended json = run({"convert", "-m", "one.safetensors", "--config", demo, "-o", "folder", "--json"});
  ASSERT_EQ(json.code, 0) << json.err;
  const Json report = Json::parse(json.out);
  EXPECT_EQ(report["layout"], "diffusers");
  EXPECT_EQ(report["types"].size(), 1u);
  EXPECT_EQ(Json::parse(run({"inspect", "folder", "--json"}).out)["usable"], true);
  EXPECT_EQ(files(), (std::vector<std::string>{"folder", "one.safetensors"}));
}

TEST_F(ConvertTest, splits_into_shards) {
  ASSERT_EQ(run({"convert", "-m", demo, "-o", "folder", "--max-shard-size", "4M"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "folder/unet/diffusion_pytorch_model.safetensors.index.json"));
  EXPECT_EQ(Json::parse(run({"inspect", "folder", "--json"}).out)["usable"], true);
}

TEST_F(ConvertTest, errors_are_one_line) {
  EXPECT_EQ(not_one_line(run({"convert", "-o", "x"}), 2), "");
  EXPECT_EQ(not_one_line(run({"convert", "-m", demo}), 2), "");
  EXPECT_EQ(not_one_line(run({"convert", "-m", demo, "-o", "no/where/x.safetensors", "--layout", "single"}), 1), "");
  EXPECT_EQ(not_one_line(run({"convert", "-m", demo, "-o", "no/where"}), 1), "");
  EXPECT_EQ(not_one_line(run({"convert", "-m", "nowhere", "-o", "x"}), 1), "");
  EXPECT_EQ(not_one_line(run({"convert", "-m", demo, "-o", "x", "--ema"}), 2), "");
  EXPECT_EQ(not_one_line(run({"convert", "-m", demo, "-o", "x", "--max-shard-size", "0"}), 2), "");
  EXPECT_EQ(not_one_line(run({"convert", "-m", demo, "-o", "x", "--max-shard-size", "1G", "--layout", "single"}), 2), "");
  write_file(folder / "y.safetensors", "no tensors");
  EXPECT_EQ(not_one_line(run({"convert", "-m", "y.safetensors", "-o", "x"}), 1), "");
  EXPECT_EQ(files(), std::vector<std::string>{"y.safetensors"});
}

TEST_F(ConvertTest, inspect_lists_what_a_single_file_lacks) {
  ASSERT_EQ(run({"convert", "-m", demo, "-o", "one.safetensors", "--layout", "single"}).code, 0);
  const Json found = Json::parse(run({"inspect", "one.safetensors", "--json"}).out);
  EXPECT_EQ(found["usable"], false);
  EXPECT_NE(found["problems"][0]["problem"].get<std::string>().find("matches no built-in configuration; give one with --config DIR"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth::test
