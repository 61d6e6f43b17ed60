// The built-in configurations of single files agree with those that their publishers distribute (golden/make_published.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "models/checkpoints.h"
#include "models/stable_diffusion/config.h"
#include "support/golden.h"

namespace hearth::models::stable_diffusion {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Published : testing::Test {
  const Json all = load_json(test::folder_of(__FILE__) / "golden/published.json");
  const std::vector<KnownFamily> families = image_files();

  fs::path place_of(const std::string& name, const std::string& file) const {
    for (const KnownFamily& family : families)
      if (fs::exists(family.configurations / name)) return published_file(family.configurations / name, file, families);
    return {};
  }
  Json own(const std::string& name, const std::string& file) const { return load_json(place_of(name, file)); }
  // Theirs and ours as the network's reader sees them.
  template <class Read> void expect_same(const std::string& name, const std::string& file, Read read) const {
    const fs::path ours = place_of(name, file);
    EXPECT_TRUE(read(Config::parse(all[name][file].dump(), "published " + file)) == read(Config::load(ours))) << ours;
  }
};

// Keys that a scheduler config omits matter, too: another sampler uses its own defaults for them.
TEST_F(Published, schedulers_state_what_their_makers_state) {
  for (const auto& [name, published] : all.items()) {
    Json ours = own(name, "scheduler/scheduler_config.json");
    EXPECT_EQ(ours, published["scheduler/scheduler_config.json"]) << name;
    const Json index = own(name, "model_index.json");
    for (const char* key : {"_class_name", "scheduler", "unet", "vae", "force_zeros_for_empty_prompt"})
      EXPECT_EQ(index.value(key, Json()), published["model_index.json"].value(key, Json())) << name << " " << key;
  }
}

TEST_F(Published, networks_are_their_makers) {
  for (const auto& entry : all.items()) {
    const std::string& name = entry.key();
    const Json& published = entry.value();
    SCOPED_TRACE(name);
    expect_same(name, "unet/config.json", [](const Config& c) { return parts::UnetConfig::from(c); });
    expect_same(name, "vae/config.json", [](const Config& c) { return parts::AutoencoderKlConfig::from(c); });
    for (const std::string component : {"text_encoder", "text_encoder_2"}) {
      const std::string file = component + "/config.json";
      if (!published.contains(file)) continue;
      // The refiner's only encoder is the first one in a folder, and has the second one's place in a single file.
      const std::string place = name == "sdxl-refiner" ? "text_encoder_2/config.json" : file;
      const auto read = [&](const Config& c) { return parts::ClipTextConfig::from(c, published["model_index.json"][component][1]); };
      EXPECT_TRUE(read(Config::parse(published[file].dump(), file)) == read(Config::load(place_of(name, place)))) << file;
    }
  }
}

}  // namespace
}  // namespace hearth::models::stable_diffusion
