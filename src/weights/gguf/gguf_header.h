// The header of a GGUF file, read as untrusted input (format: weights/gguf/gguf.h).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weights/gguf/gguf_metadata.h"
#include "weights/weights.h"

namespace hearth {

struct GgufEntry {
  std::string type;             // ggml's name, "Q4_K"
  TensorInfo info;              // info.unreadable is set for an unsupported type
  uint64_t begin = 0, end = 0;  // bytes, from the start of the file
};

struct GgufHeader {
  uint32_t version = 0;
  uint64_t alignment = 0, data_start = 0;
  GgufMetadata metadata;
  std::map<std::string, GgufEntry> tensors;
};

// Reads and checks the header of a whole file; its values are views of `file`. IoError, with a message that starts with `where`, for a
// malformed file; UnsupportedError for a big-endian file, another version or an array of arrays.
GgufHeader parse_gguf_header(std::string_view file, const std::string& where);

}  // namespace hearth
