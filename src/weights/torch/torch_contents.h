// What a PyTorch checkpoint holds (.ckpt, .pt, .pth, .bin), read without executing or trusting anything of it.
//
//   zip     (torch ≥ 1.6) DIR/data.pkl, the object; DIR/data/KEY, its storages; DIR/byteorder. Members are stored as they are.
//   legacy  pickles of a magic number, 1001, the writer's machine, the object and the storages' keys; then, for each key, a count of
//           elements (8 bytes) and these
//   raw     one pickle with the storages inside (pickle.dump of a state dict, protocol 3 or later)
//
// The object is a dict. Its tensors are those of the first of its keys state_dict, params_ema, ema, params and model that holds any; else
// all that there are in dicts and lists, under names joined by dots. Several tensors may share a storage.
//
// Nothing that a file would have Python call is called. What is known to rebuild tensors, parameters and dicts is understood; a tensor
// made in any other way is unreadable. Other calls lie beside the tensors in many checkpoints (callbacks, configurations) and do no harm,
// except that a file with one that starts programs or runs code is refused.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weights/weights.h"

namespace hearth {

struct TorchEntry {
  TensorInfo info;               // info.unreadable for a type, a rank or a kind of tensor that hearth does not know
  uint64_t begin = 0, end = 0;   // bytes from the first element to behind the last one, from the start of the file
  std::vector<int64_t> strides;  // in elements, as many as axes
  bool contiguous = true;
};

struct TorchContents {
  std::string format;                         // "zip", "legacy" or "raw"
  std::string part;                           // the key under which the tensors were, "state_dict"; empty where there was none
  std::map<std::string, TorchEntry> tensors;  // by name
  std::map<std::string, std::string> others;  // what else there is, "epoch" → "the integer 6"
};

// Reads and checks a whole file. IoError that begins with `where` for a file that is not sound, holds no dict or wants a call that starts
// programs or runs code; UnsupportedError for big-endian files, compressed members, TorchScript and tar archives.
TorchContents parse_torch_file(std::string_view file, const std::string& where);

}  // namespace hearth
