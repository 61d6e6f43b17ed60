// The demo language model: results of the reference implementation, and copies that tests damage or rearrange.
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
  // Reads, changes and writes a file such as "config.json".
  void edit_json(const std::filesystem::path& file, const std::function<void(nlohmann::json&)>& change);
  // Reads and changes the tensors and writes them as one file.
  void edit_tensors(const std::function<void(std::map<std::string, Tensor>&)>& change);
  // Splits one file into `count` shards and an index.
  void shard(int count);

  Backend& device() { return *device_; }

 private:
  std::map<std::string, Tensor> tensors() const;

  TemporaryFolder folder_;
  std::unique_ptr<Backend> device_;
};

}  // namespace hearth::test
