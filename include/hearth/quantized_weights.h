// QuantizedWeights: what the weights of a quantized checkpoint become when it is opened.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace hearth {

struct QuantizedWeights {
  struct Held {
    int64_t weights = 0, bytes = 0;
    bool widened = false;  // to floats, because no block type has the values
  };
  std::string method;                 // as the checkpoint names it, "bitsandbytes"; empty if it is not quantized
  int64_t stored_bytes = 0;           // of these weights in the files, with their scales
  int64_t unpacked_bytes = 0;         // of those that are unpacked into memory; the others stay in the mapped files
  std::map<std::string, Held> types;  // by data type in memory, "q4_0"

  // "bitsandbytes: 224 weights widened to bf16; 72.1 MB in the files, 252.4 MB in memory". Empty without a method.
  std::string text() const;
};

}  // namespace hearth
