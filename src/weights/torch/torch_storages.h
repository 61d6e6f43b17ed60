// The storages of a PyTorch checkpoint: arrays of elements of one type, which its tensors refer to (formats:
// weights/torch/torch_contents.h).
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
  std::optional<DType> dtype;  // nullopt for an unsupported type
  uint64_t size = 0;           // bytes of one element
};

// The type of a storage class. IoError, with a message that starts with `where`, for anything else.
TorchType torch_storage_type(const PickleValue& storage_class, const std::string& where);
// The dtype of a global like torch.float8_e4m3fn; nullopt for any other value.
std::optional<DType> torch_dtype(const PickleValue& value);

struct TorchStorage {
  uint64_t begin = 0, end = 0;  // bytes, from the start of the file
  TorchType type;
};

// The storage that a value of the object's pickle refers to. IoError if the file has no such storage.
using FindStorage = std::function<TorchStorage(const PickleValue&, const std::string& where)>;

// A checkpoint's object, and the lookup of its storages.
struct TorchObject {
  std::string format;
  Pickle pickle;
  FindStorage storage;
};

// Reads a zip, legacy or raw file. Errors: parse_torch_file().
TorchObject read_torch_object(std::string_view file, const std::string& where);

}  // namespace hearth
