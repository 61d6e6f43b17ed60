// Copies of the golden checkpoints, which tests damage or rearrange.
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
  // Reads, changes and writes a file such as "unet/config.json".
  void edit_json(const std::filesystem::path& file, const std::function<void(nlohmann::json&)>& change);
  // Reads, changes and writes the tensors of "unet", "vae" or "text_encoder"; `file` "": the same file.
  void edit_tensors(const std::string& component, const std::function<void(NamedTensors&)>& change, const std::string& file = {});
  // Splits one file into `count` shards and an index.
  void shard(const std::string& component, int count);
  // Writes seeded f16 weights (weights/seeded.h) for the present config.json of "text_encoder" or "unet".
  void seed(const std::string& component);
  // The same as a sparse file, which takes no disk space: all values are zeros.
  void hollow(const std::string& component);
  // Rounds every tensor to a dtype.
  void convert(const std::string& component, DType dtype, const std::string& file = {});

  Backend& device() { return *device_; }
  std::filesystem::path weights(const std::string& component) const;  // path of the single file

 private:
  std::map<std::string, Shape> tensors_of(const std::string& component) const;  // name → shape, by its config.json

  TemporaryFolder folder_;
  std::unique_ptr<Backend> device_;
};

Tensor copy_of(const Tensor& x, DType dtype);  // does not share memory with `x`

}  // namespace hearth::test
