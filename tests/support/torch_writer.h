// PyTorch checkpoints as torch.save writes them, valid or with single false fields.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace hearth::test {

// A tensor as a pickle describes it: its position in the storage `key`, which has `elements` elements.
struct PickledTensor {
  std::string name, type = "FloatStorage", key = "0";
  int64_t elements = 1, offset = 0;
  std::vector<int64_t> sizes, strides;
};

using NamedBytes = std::vector<std::pair<std::string, std::string>>;

// The pickle of a dict of these tensors.
std::string pickled(const std::vector<PickledTensor>& tensors);
// A zip archive of stored members, each at a multiple of 64 bytes.
std::string zipped(const NamedBytes& members);
// The two kinds of checkpoint; storages by key.
std::string torch_zip(const std::string& pickle, const NamedBytes& storages);
std::string torch_legacy(const std::string& pickle, const NamedBytes& storages, size_t element_size);

// A checkpoint of contiguous f32, f16 and bf16 tensors.
void write_torch(const std::filesystem::path& file, const std::map<std::string, Tensor>& tensors);

}  // namespace hearth::test
