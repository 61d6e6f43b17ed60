// Deterministic damage to single files and configurations: the result is always a checkpoint or one of our errors.
// HEARTH_FUZZ_ROUNDS multiplies the length.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/json.h"
#include "models/checkpoints.h"
#include "parts/unet/files.h"
#include "support/damage.h"
#include "weights/layout/key_lists_test.h"

namespace hearth::models {
namespace {

namespace fs = std::filesystem;

// Names and shapes of a published file, some of them changed.
TEST(FilesFuzz, names_and_shapes) {
  test::Damage damage(21);
  std::vector<TensorList> seeds;
  for (const char* list : {"sd15-single-file", "sd21-single-file"}) {
    TensorList& seed = seeds.emplace_back();
    for (const auto& [name, info] : test::key_list(list))  // a third of each, so that most of them are missing
      if (name.find(".transformer_blocks.0.ff") == name.npos && name.find("resblocks.1") == name.npos) seed.emplace(name, info);
  }
  const std::vector<KnownFamily> families = image_files();
  const nlohmann::json with_classes{{"class_embed_type", "projection"}};
  test::Outcome outcome;
  int unknown = 0;
  for (int i = 0; i < 60 * test::fuzz_rounds(); ++i) {
    TensorList tensors = seeds[damage.below(seeds.size())];
    for (size_t n = damage.below(6); n > 0; --n) {
      auto node = tensors.extract(std::next(tensors.begin(), ptrdiff_t(damage.below(tensors.size()))));
      Shape& shape = node.mapped().shape;
      switch (damage.below(4)) {
        case 0: damage.apply(node.key(), damage.below(node.key().size())); break;
        case 1: shape = Shape(); break;
        case 2: shape.push_back(int64_t(damage.below(5))); break;
        case 3:
          if (shape.rank() > 0) shape[int(damage.below(size_t(shape.rank())))] = int64_t(damage.below(4000));
      }
      if (damage.below(8) > 0) tensors.insert(std::move(node));
    }
    outcome.attempt([&] {
      const auto source = std::make_shared<test::ListedSource>(tensors);
      for (const Section& section : find_sections(tensors, families, "list")) {
        const auto official = open_section(source, section, {.config = damage.below(2) == 0 ? &with_classes : nullptr});
        if (section.slot().role == ComponentRole::denoiser)
          unknown += configurations_with({*section.network, section.slot(), *official}, families).empty();
      }
    });
  }
  EXPECT_GT(outcome.accepted, 40);
  EXPECT_GT(unknown, 0);
}

TEST(FilesFuzz, configurations) {
  test::Damage damage(22);
  const fs::path models = fs::path(HEARTH_SOURCE_DIR) / "src/models";
  std::vector<std::string> seeds;
  for (const char* folder : {"sd1/configs/sd15", "sdxl/configs/sdxl", "sdxl/configs/ssd-1b", "sdxl_refiner/configs/sdxl-refiner"})
    seeds.push_back(read_file(models / folder / "unet/config.json"));
  test::Outcome outcome;
  for (int i = 0; i < 5000 * test::fuzz_rounds(); ++i) {
    std::string text = seeds[damage.below(seeds.size())];
    damage.apply(text, damage.below(text.size()));
    outcome.attempt([&] { parts::unet_files.stated_geometry(parse_json(text, "f")); });
  }
  EXPECT_GT(outcome.accepted, 500);
  EXPECT_GT(outcome.refused, 1000);
}

}  // namespace
}  // namespace hearth::models
