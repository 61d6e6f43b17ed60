// The storages of a PyTorch checkpoint: runs of elements of one type, to which its tensors refer (formats: weights/torch/torch_contents.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "weights/torch/pickle.h"

namespace hearth {

struct TorchType {
  std::string name;            // "torch.FloatStorage"
  std::optional<DType> dtype;  // nothing for one that hearth does not know
  uint64_t size = 0;           // bytes of one element
};

// By the class of a storage. IoError that begins with `where` for what is no storage's class.
TorchType torch_storage_type(const PickleValue& storage_class, const std::string& where);
// By a global like torch.float8_e4m3fn; nothing for one that hearth does not know.
std::optional<DType> torch_dtype(const PickleValue& value);

struct TorchStorage {
  uint64_t begin = 0, end = 0;  // bytes, from the start of the file
  TorchType type;
};

// What a value of the object's pickle refers to. IoError where it refers to no storage of the file.
using FindStorage = std::function<TorchStorage(const PickleValue&, const std::string& where)>;

// A checkpoint's object and where its storages are.
struct TorchObject {
  std::string format;
  Pickle pickle;
  FindStorage storage;
};

// The file as zip, legacy or raw. Errors: parse_torch_file().
TorchObject read_torch_object(std::string_view file, const std::string& where);

}  // namespace hearth
