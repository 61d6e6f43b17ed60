// golden/keys: `name<TAB>shape` of every tensor of a published file.
#pragma once

#include <fstream>
#include <sstream>

#include "support/golden.h"
#include "weights/weights.h"

namespace hearth::test {

inline std::map<std::string, TensorInfo> key_list(const std::string& name, DType dtype = DType::f32) {
  std::ifstream in(std::filesystem::path(HEARTH_SOURCE_DIR) / "src/weights/layout/golden/keys" / (name + ".tsv"));
  std::map<std::string, TensorInfo> all;
  for (std::string line; std::getline(in, line);) {
    const size_t tab = line.find('\t');
    TensorInfo info{.dtype = dtype};
    std::istringstream shape(line.substr(tab + 1));
    for (std::string d; std::getline(shape, d, ',');) info.shape.push_back(std::stoll(d));
    all[line.substr(0, tab)] = info;
  }
  return all;
}

// Such a list as a source without values.
class ListedSource : public TensorSource {
 public:
  explicit ListedSource(std::map<std::string, TensorInfo> tensors) : tensors_(std::move(tensors)) {}
  std::string describe() const override { return "list"; }
  std::map<std::string, TensorInfo> list() const override { return tensors_; }
  bool has(const std::string& name) const override { return tensors_.contains(name); }
  Tensor read(const std::string&, const Shape&, Backend&) override { return {}; }

 private:
  std::map<std::string, TensorInfo> tensors_;
};

}  // namespace hearth::test
