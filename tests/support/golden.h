// Goldens: small safetensors files that golden/make.py, next to a network, wrote once with its reference implementation.
// They hold inputs, outputs and taps in between; weights are a function of the tensor's name.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/observe.h"

namespace hearth::test {

// The folder of a test's source in the source tree: pass __FILE__.
std::filesystem::path folder_of(const char* source_file);

class Golden {
 public:
  // golden/<name>.safetensors in the folder of `source_file` (pass __FILE__).
  Golden(const char* source_file, const std::string& name, Backend& device);

  bool has(const std::string& name) const;
  Tensor tensor(const std::string& name) const;              // as stored, on the device
  std::vector<float> values(const std::string& name) const;  // as f32
  std::vector<std::string> names() const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Collects every tap of a forward pass: path → values.
class TapRecorder : public Observer {
 public:
  void on_tap(std::string_view path, const Tensor& x) override { taps[std::string(path)] = x.to_vector(); }
  std::map<std::string, std::vector<float>> taps;
};

// Deterministic values in [-1, 1) from a name (the same stream as seeded weights), for test inputs.
std::vector<float> test_values(const std::string& name, int64_t count);

}  // namespace hearth::test
