// Copies of the golden checkpoints, to be broken or re-arranged.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>

#include "core/backend.h"
#include "e2e/cases.h"
#include "support/files.h"

namespace hearth::test {

using NamedTensors = std::map<std::string, Tensor>;

class CheckpointCopy {
 public:
  explicit CheckpointCopy(const std::string& checkpoint);

  const std::filesystem::path& path() const { return folder_.path(); }
  // "unet/config.json" read, changed, written.
  void edit_json(const std::filesystem::path& file, const std::function<void(nlohmann::json&)>& change);
  // The tensors of "unet", "vae" or "text_encoder", read, changed, written to `file` ("" = where they were).
  void edit_tensors(const std::string& component, const std::function<void(NamedTensors&)>& change, const std::string& file = {});
  // One file → `count` shards and their index.
  void shard(const std::string& component, int count);
  // Seeded weights (weights/seeded.h) in f16 of the geometry that the config.json of "text_encoder" or "unet" has now.
  void seed(const std::string& component);
  // The same in a file that says so and takes no room on the disk: all its numbers are zeros.
  void hollow(const std::string& component);
  // Every tensor rounded to a type.
  void convert(const std::string& component, DType dtype, const std::string& file = {});

  Backend& device() { return *device_; }
  std::filesystem::path weights(const std::string& component) const;  // the single file

 private:
  std::map<std::string, Shape> tensors_of(const std::string& component) const;  // as its config.json wants them

  TemporaryFolder folder_;
  std::unique_ptr<Backend> device_;
};

Tensor copy_of(const Tensor& x, DType dtype);  // in memory of its own

}  // namespace hearth::test
