// The demo language model: what the reference makes of it, and copies of it to be broken or re-arranged.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>

#include "core/backend.h"
#include "hearth/language.h"
#include "support/files.h"

namespace hearth::test {

const nlohmann::json& language_golden();  // language_golden/complete.json

std::filesystem::path demo_language_model();

class LanguageCopy {
 public:
  LanguageCopy();

  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return folder_ / name; }
  // "config.json" read, changed, written.
  void edit_json(const std::filesystem::path& file, const std::function<void(nlohmann::json&)>& change);
  // The tensors read, changed, and written as one file.
  void edit_tensors(const std::function<void(std::map<std::string, Tensor>&)>& change);
  // One file → `count` shards and their index.
  void shard(int count);

  Backend& device() { return *device_; }

 private:
  std::map<std::string, Tensor> tensors() const;

  TemporaryFolder folder_;
  std::unique_ptr<Backend> device_;
};

}  // namespace hearth::test
