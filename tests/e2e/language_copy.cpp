#include "e2e/language_copy.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "core/files/json.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::test {

namespace fs = std::filesystem;

const nlohmann::json& language_golden() {
  static const nlohmann::json golden = load_json(HEARTH_SOURCE_DIR "/tests/e2e/language_golden/complete.json");
  return golden;
}

fs::path demo_language_model() { return HEARTH_SOURCE_DIR "/assets/demo-language-model"; }

LanguageCopy::LanguageCopy() : device_(make_backend({.name = "reference", .threads = 1})) {
  fs::copy(demo_language_model(), path(), fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(path())) fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
}

void LanguageCopy::edit_json(const fs::path& file, const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json json = load_json(path() / file);
  change(json);
  std::ofstream(path() / file) << json.dump(1);
}

std::map<std::string, Tensor> LanguageCopy::tensors() const {
  std::map<std::string, Tensor> all;
  const auto source = SafetensorsFile::open(path() / "model.safetensors");
  for (const auto& [name, info] : source->list()) {
    const Tensor x = source->read(name, info.shape, *device_);
    all[name] = Tensor::from(*device_, x.shape(), x.to_vector(), info.dtype);
  }
  return all;
}

void LanguageCopy::edit_tensors(const std::function<void(std::map<std::string, Tensor>&)>& change) {
  auto all = tensors();
  change(all);
  write_safetensors(path() / "model.safetensors", all);
}

void LanguageCopy::shard(int count) {
  nlohmann::json index = {{"metadata", {{"total_size", 0}}}, {"weight_map", nlohmann::json::object()}};
  std::vector<std::map<std::string, Tensor>> shards(static_cast<size_t>(count));
  size_t next = 0;
  for (const auto& [name, x] : tensors()) shards[next++ % shards.size()][name] = x;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string file = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, count);
    write_safetensors(path() / file, shards[i]);
    for (const auto& [name, x] : shards[i]) index["weight_map"][name] = file;
  }
  fs::remove(path() / "model.safetensors");
  std::ofstream(path() / "model.safetensors.index.json") << index.dump(1);
}

}  // namespace hearth::test
