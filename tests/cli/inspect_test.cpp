// hearth inspect, as a process. Its results are checked in weights/inspection and in the end-to-end tests.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "core/files/file.h"
#include "media/formats/png.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path demo = fs::path(HEARTH_SOURCE_DIR) / "assets/demo-model";

class InspectTest : public CommandTest {};

TEST_F(InspectTest, describes_a_checkpoint) {
  const Ended text = run({"inspect", demo});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.err, "");
  for (const char* part : {"sd1", "unet", "vae", "text_encoder"}) EXPECT_NE(text.out.find(part), std::string::npos) << text.out;
  const Ended json = run({"inspect", demo, "--json"});
  EXPECT_EQ(json.code, 0);
  EXPECT_EQ(json.out.substr(json.out.size() - 2), "}\n");
  const Json found = Json::parse(json.out);
  EXPECT_EQ(found["usable"], true);
  EXPECT_EQ(found["family"], "sd1");
}

TEST_F(InspectTest, a_missing_variant_is_an_error) {
  const Ended r = run({"inspect", demo, "--variant", "fp16", "--json"});
  if (r.code == 0) EXPECT_EQ(Json::parse(r.out)["usable"], false);
  else EXPECT_EQ(not_one_line(r, 1), "");
  EXPECT_NE((r.out + r.err).find("fp16"), std::string::npos);
}

TEST_F(InspectTest, prints_the_generation_parameters_of_an_image) {
  ASSERT_EQ(run({"generate", "-p", "a red house", "--steps", "1", "--seed", "7", "-W", "64", "-H", "64", "-o", "a.png"}).code, 0);
  const Ended text = run({"inspect", "a.png"});
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* part : {"64×64", "a red house", "Seed: 7", "Steps: 1"}) EXPECT_NE(text.out.find(part), std::string::npos) << text.out;
  const Json json = Json::parse(run({"inspect", "a.png", "--json"}).out);
  EXPECT_EQ(json["hearth"]["seed"], 7);
  EXPECT_EQ(json["hearth"]["prompt"], "a red house");
  EXPECT_EQ(json["parameters"].get<std::string>().rfind("a red house\nSteps: 1, ", 0), 0u);
}

TEST_F(InspectTest, describes_images_of_every_format) {
  const fs::path golden = fs::path(HEARTH_SOURCE_DIR) / "src/media/golden/pillow";
  const auto inspected = [&](const char* name) { return Json::parse(run({"inspect", golden / name, "--json"}).out); };
  EXPECT_EQ(inspected("a1111.jpg")["format"], "JPEG");
  EXPECT_NE(inspected("a1111.jpg")["parameters"].get<std::string>().find("Sampler: Euler a"), std::string::npos);
  EXPECT_EQ(inspected("comfyui.webp")["comfyui"]["prompt"]["1"], "cat");
  EXPECT_EQ(inspected("turned6.webp")["orientation"], 6);
  EXPECT_EQ(inspected("turned6.webp")["transparency"], true);
  EXPECT_EQ(inspected("turned6.webp")["width"], 4);
  const Ended text = run({"inspect", golden / "turned6.jpg"});
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("turned6.jpg: JPEG image, 4×6, baseline, YCbCr 4:4:4\nEXIF orientation 6: applied\n"), std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("No generation metadata."), std::string::npos);
}

TEST_F(InspectTest, other_paths_are_one_line_errors) {
  EXPECT_EQ(not_one_line(run({"inspect"}), 2), "");
  EXPECT_EQ(not_one_line(run({"inspect", "a", "b"}), 2), "");
  EXPECT_EQ(not_one_line(run({"inspect", "nowhere"}), 1), "");
  fs::create_directory(folder / "empty");
  EXPECT_EQ(not_one_line(run({"inspect", "empty"}), 1), "");
  write_file(folder / "text.safetensors", "not a checkpoint");
  EXPECT_EQ(not_one_line(run({"inspect", "text.safetensors"}), 1), "");
  const std::string png = encode_png(Pixels{.width = 1, .height = 1, .rgb = {1, 2, 3}});
  write_file(folder / "cut.png", png.substr(0, png.size() - 20));
  EXPECT_EQ(not_one_line(run({"inspect", "cut.png"}), 1), "");
  write_file(folder / "a.png", "GIF89a and so on");
  EXPECT_EQ(run({"inspect", "a.png"}).err, "hearth: image: a.png is a GIF file, expected PNG, JPEG or WebP\n");
}

// Sound, damaged and hostile files of every kind are described, or are an error of one line.
TEST_F(InspectTest, damaged_files_are_described_or_one_line_errors) {
  int refused = 0, harmful = 0;
  for (const char* kind : {"safetensors/golden/corpus", "torch/golden", "gguf/golden", "golden/embeddings"})
    for (const auto& entry : fs::directory_iterator(fs::path(HEARTH_SOURCE_DIR) / "src/weights" / kind)) {
      const std::string file = entry.path().filename();
      if (file.ends_with(".py") || file.ends_with(".json") || entry.is_directory()) continue;
      SCOPED_TRACE(file);
      const Ended r = run({"inspect", entry.path()});
      if (r.code == 0) {
        EXPECT_EQ(r.err, "");
        EXPECT_FALSE(file.starts_with("hostile"));
        continue;
      }
      EXPECT_EQ(not_one_line(r, 1), "");
      ++refused;
      if (!file.starts_with("hostile")) continue;
      EXPECT_NE(r.err.find("the file is refused, and nothing was executed"), std::string::npos) << r.err;
      ++harmful;
    }
  EXPECT_GE(refused, 40);
  EXPECT_EQ(harmful, 9);
  EXPECT_EQ(files(), std::vector<std::string>{});
}

}  // namespace
}  // namespace hearth::test
