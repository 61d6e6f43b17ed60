// The contents of a PyTorch checkpoint (.ckpt, .pt, .pth, .bin), read as untrusted input and without executing anything.
//
//   zip     (torch ≥ 1.6) DIR/data.pkl, the object; DIR/data/KEY, its storages; DIR/byteorder. Members are not compressed.
//   legacy  pickles of a magic number, 1001, the writer's platform, the object and the storages' keys; then, for each key, the number of
//           elements (8 bytes) and the elements
//   raw     one pickle with the storages inside (pickle.dump of a state dict, protocol 3 or later)
//
// The object is a dict. The first of its keys state_dict, params_ema, ema, params and model that holds tensors is read; if there is none,
// all tensors in nested dicts and lists are, with names joined by dots. Several tensors may share a storage.
//
// No call that a file requests is made. The functions of torch that rebuild tensors, parameters and dicts are emulated; a tensor from any
// other call is unreadable. Many checkpoints contain other calls next to the tensors (callbacks, configurations), which are ignored, but a
// file with a call that starts programs or runs code is refused.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weights/weights.h"

namespace hearth {

struct TorchEntry {
  TensorInfo info;               // info.unreadable is set for an unsupported type, rank or kind of tensor
  uint64_t begin = 0, end = 0;   // bytes [begin, end) of the file, from the first to the last element
  std::vector<int64_t> strides;  // in elements, one per axis
  bool contiguous = true;
};

struct TorchContents {
  std::string format;                         // "zip", "legacy" or "raw"
  std::string part;                           // the key that holds the tensors, "state_dict"; empty if none does
  std::map<std::string, TorchEntry> tensors;  // by name
  std::map<std::string, std::string> others;  // other contents, "epoch" → "the integer 6"
};

// Reads and checks a whole file. IoError, with a message that starts with `where`, for a file that is malformed, holds no dict or requests
// a call that starts programs or runs code; UnsupportedError for big-endian files, compressed members, TorchScript and tar archives.
TorchContents parse_torch_file(std::string_view file, const std::string& where);

}  // namespace hearth
