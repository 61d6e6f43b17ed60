// Converts language models to GGUF files and quantizes their weights.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "hearth/progress.h"
#include "hearth/written.h"

namespace hearth {

struct QuantizeRequest {
  std::filesystem::path model;   // a folder with config.json, safetensors and tokenizer.json, or a GGUF file
  std::filesystem::path output;  // written atomically
  // Type of the matrices: f32, f16, bf16, q8_0, q6_k, q5_k, q4_k, q3_k, q2_k, q5_1, q5_0, q4_1, q4_0, iq4_nl, iq4_xs or mxfp4. Vectors are
  // f32.
  std::string type = "q4_k";
  bool pure = false;                          // quantize the output matrix (or tied embedding) to `type` too; otherwise it is at least q6_k
  int threads = 0;                            // 0: one per CPU
  OnProgress progress;                        // phase "quantize", in parameters
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: ends with Canceled
};

struct QuantizeReport : WrittenWeights {  // WrittenWeights::bytes: of the file
  std::string architecture;               // general.architecture: the family's, or that of the input GGUF file
};

// UnsupportedError for a family, configuration or tokenizer that GGUF cannot describe; WeightError for tensors that are missing, unused,
// misshapen or non-finite; UsageError for an unknown type; IoError.
QuantizeReport quantize(const QuantizeRequest& request);

}  // namespace hearth
