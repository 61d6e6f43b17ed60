// A checkpoint of the mock family and its command, for the tests of this folder.
#pragma once

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "media/formats/image_file.h"
#include "models/checkpoints.h"
#include "models/diffusion/generated_weights.h"
#include "models/registry.h"
#include "support/backend_test.h"

namespace hearth::test {
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Arguments = std::vector<std::string>;

inline void write_json(const fs::path& file, const Json& json) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << json.dump(2);
}

struct MockSizes {
  int64_t text_width = 32, text_layers = 0;  // of CLIP; 0 layers: as the demo model
  int64_t width = 24, layers = 2;            // of the transformer
};

// A folder as the family's users would have it, with generated weights.
inline void write_checkpoint(const fs::path& folder, const MockSizes& sizes = {}) {
  const auto of = [](const char* library, const char* class_name) { return Json::array({library, class_name}); };
  write_json(folder / "model_index.json", {{"_class_name", "MockStreamPipeline"},
                                           {"scheduler", of("diffusers", "FlowMatchEulerDiscreteScheduler")},
                                           {"text_encoder", of("transformers", "CLIPTextModel")},
                                           {"text_encoder_2", of("mock", "ByteEncoder")},
                                           {"tokenizer", of("transformers", "CLIPTokenizer")},
                                           {"transformer", of("mock", "StreamTransformer")},
                                           {"vae", of("diffusers", "AutoencoderKL")}});
  write_json(folder / "scheduler/scheduler_config.json", {{"num_train_timesteps", 1000}, {"shift", 3.0}});
  write_json(folder / "text_encoder_2/config.json", {{"width", 16}});
  write_json(folder / "transformer/config.json", {{"channels", 4},
                                                  {"text_width", 16},
                                                  {"pooled_width", sizes.text_width},
                                                  {"width", sizes.width},
                                                  {"heads", 2},
                                                  {"layers", sizes.layers},
                                                  {"sample_size", 8}});
  const fs::path demo = fs::path(HEARTH_SOURCE_DIR) / "assets/demo-model";
  fs::copy(demo / "tokenizer", folder / "tokenizer");
  for (const char* component : {"text_encoder", "vae"}) {
    std::ifstream in(demo / component / "config.json");
    Json config = Json::parse(in);
    if (component == std::string("text_encoder")) {
      config.update({{"hidden_size", sizes.text_width}, {"intermediate_size", 2 * sizes.text_width}});
      if (sizes.text_layers > 0) config.update({{"num_hidden_layers", sizes.text_layers}});
    }
    write_json(folder / component / "config.json", config);
  }
  const Checkpoint checkpoint = models::open_checkpoint(folder);
  models::diffusion::write_generated_weights(*models::find_family(checkpoint).family.describe(checkpoint), folder, DType::f32);
}

class MockStream : public CommandTest {
 protected:
  MockStream() { write_checkpoint(folder / "mock"); }

  Ended draw(const Arguments& more) const {
    Arguments arguments = {"generate", "-m", "mock", "-p", "a red house", "--steps", "3"};
    const Arguments ours[] = {{"--seed", "7"}, {"-o", "a.png"}};  // a flag of `more` replaces ours
    for (const Arguments& flag : ours)
      if (std::find(more.begin(), more.end(), flag[0]) == more.end()) arguments.insert(arguments.end(), flag.begin(), flag.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  Json report(Arguments more) const {
    more.push_back("--json");
    const Ended ended = draw(more);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.code == 0 ? Json::parse(ended.out).at("runs").at(0) : Json();
  }
  Pixels image(const Arguments& more) const {
    const Ended ended = draw(more);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.code == 0 ? read_png(folder / "a.png").image : Pixels();
  }
};

}  // namespace hearth::test
