// A checkpoint of the mock family with generated weights, as the family's users would have it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/checkpoints.h"
#include "models/diffusion/generated_weights.h"
#include "models/registry.h"

namespace hearth::test {

struct MockSizes {
  int64_t text_width = 32, text_layers = 0;  // of CLIP; 0 layers: as the demo model
  int64_t width = 24, layers = 2;            // of the transformer
};

inline void write_mock_stream(const std::filesystem::path& folder, const MockSizes& sizes = {}) {
  namespace fs = std::filesystem;
  using Json = nlohmann::ordered_json;
  const auto write_json = [](const fs::path& file, const Json& json) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << json.dump(2);
  };
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

}  // namespace hearth::test
