// GGUF files by the rules of llama.cpp's converter (golden/converted.py) give the logits of transformers.
#include <nlohmann/json.hpp>

#include "models/language_loading.h"
#include "models/language_registry.h"
#include "support/backend_test.h"
#include "support/golden.h"
#include "support/tolerance.h"

namespace hearth::models {
namespace {

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::directory_iterator(test::folder_of(__FILE__) / "golden/converted"))
    if (entry.path().extension() == ".gguf") all.push_back(entry.path());
  return all;
}

BACKEND_TEST(Converted, files_have_the_logits_of_the_reference) {
  int count = 0;
  for (const std::filesystem::path& path : files()) {
    const std::string name = path.stem().string();
    SCOPED_TRACE(name);
    const LanguageCheckpoint checkpoint = open_language_checkpoint(path);
    const auto [family_name, family] = find_family(checkpoint);
    EXPECT_TRUE(name.starts_with(family_name.substr(0, 8))) << family_name;
    const LoadedLanguageModel loaded = load_language_model(family, checkpoint, device, {.types = WeightTypes{.in_place = true}});
    const test::Golden golden(__FILE__, "converted/" + name, device);
    const auto ids = nlohmann::json::parse(golden.metadata().at("facts")).at("ids").get<std::vector<int32_t>>();
    std::vector<float> logits;
    const auto text = loaded.model->start(std::ssize(ids), DType::f32);
    loaded.model->feed(*text, ids, 0, [&](int64_t, std::span<const float> row) { logits.insert(logits.end(), row.begin(), row.end()); });
    EXPECT_CLOSE(logits, golden.values("logits"), 5e-6);  // observed: at most 1.4e-6
    ++count;
  }
  EXPECT_EQ(count, 22);
}

}  // namespace
}  // namespace hearth::models
