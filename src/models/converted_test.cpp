// GGUF files by the rules of llama.cpp's converter, and packed folders that transformers reads (golden/converted.py), give its logits.
#include <nlohmann/json.hpp>

#include "models/language_loading.h"
#include "models/language_registry.h"
#include "support/backend_test.h"
#include "support/golden.h"
#include "support/tolerance.h"

namespace hearth::models {
namespace {

std::vector<std::filesystem::path> found(bool (*wanted)(const std::filesystem::path&)) {
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::directory_iterator(test::folder_of(__FILE__) / "golden/converted"))
    if (wanted(entry.path())) all.push_back(entry.path());
  return all;
}

void expect_logits(const std::filesystem::path& path, Backend& device, double limit) {
  const std::string name = path.stem().string();
  SCOPED_TRACE(path.filename().string());
  const LanguageCheckpoint checkpoint = open_language_checkpoint(path);
  const auto [family_name, family] = find_family(checkpoint);
  EXPECT_TRUE(name.starts_with(family_name.substr(0, 8))) << family_name;
  const LoadedLanguageModel loaded = load_language_model(family, checkpoint, device, {.types = WeightTypes{.in_place = true}});
  const test::Golden golden(__FILE__, "converted/" + name, device);
  const auto ids = nlohmann::json::parse(golden.metadata().at("facts")).at("ids").get<std::vector<int32_t>>();
  std::vector<float> logits;
  const auto text = loaded.model->start(std::ssize(ids), DType::f32);
  loaded.model->feed(*text, ids, 0, [&](int64_t, std::span<const float> row) { logits.insert(logits.end(), row.begin(), row.end()); });
  EXPECT_CLOSE(logits, golden.values("logits"), limit);
}

BACKEND_TEST(Converted, files_have_the_logits_of_the_reference) {
  const auto all = found([](const std::filesystem::path& path) { return path.extension() == ".gguf"; });
  EXPECT_EQ(all.size(), 30u);
  for (const std::filesystem::path& path : all)
    expect_logits(path, device, 1e-5);  // observed: 3.4e-6 for qwen3_next, at most 1.7e-6 for others
}

// Folders whose experts are packed, as they are published; their GGUF files are among the above.
BACKEND_TEST(Converted, folders_have_the_logits_of_the_reference) {
  const auto all = found([](const std::filesystem::path& path) { return std::filesystem::is_directory(path); });
  EXPECT_EQ(all.size(), 1u);
  for (const std::filesystem::path& path : all) expect_logits(path, device, 5e-6);  // observed 2.8e-7 reference, 5.5e-7 cpu
}

}  // namespace
}  // namespace hearth::models
