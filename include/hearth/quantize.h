// Language models as GGUF files, with weights in the types of such files.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "hearth/progress.h"
#include "hearth/written.h"

namespace hearth {

struct QuantizeRequest {
  std::filesystem::path model;   // a folder with config.json, safetensors and tokenizer.json, or a GGUF file
  std::filesystem::path output;  // appears whole or not at all
  // Of the matrices: f32, f16, bf16, q8_0, q6_k, q5_k, q4_k, q3_k, q2_k, q5_1, q5_0, q4_1, q4_0, iq4_nl, iq4_xs or mxfp4. Vectors are f32.
  std::string type = "q4_k";
  bool pure = false;                          // the output matrix (the embedding, where it is the same) too; else it is q6_k at least
  int threads = 0;                            // 0 = all processors
  OnProgress progress;                        // phase "quantize", in parameters
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: ends with Canceled
};

struct QuantizeReport : WrittenWeights {  // bytes: of the file
  std::string architecture;               // general.architecture: that of the family, or what the given GGUF file has
};

// UnsupportedError for a family, a configuration or a tokenizer that such a file cannot say; WeightError for tensors that are missing,
// left over, misshapen or not numbers; UsageError for an unknown type; IoError.
QuantizeReport quantize(const QuantizeRequest& request);

}  // namespace hearth
