// Converts models to GGUF files and quantizes their weights.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "hearth/progress.h"
#include "hearth/written.h"

namespace hearth {

struct QuantizeRequest {
  // A language model: a folder with config.json, safetensors and tokenizer.json, or a GGUF file. An image model, as in Model::open, or a
  // file or folder of one of its components.
  std::filesystem::path model;
  std::filesystem::path output;  // written atomically
  // Type of the matrices: f32, f16, bf16, q8_0, q6_k, q5_k, q4_k, q3_k, q2_k, q5_1, q5_0, q4_1, q4_0, iq4_nl, iq4_xs or mxfp4; or a
  // mixture, q5_k_m, q4_k_m or q3_k_m, which has one step more for the matrices that lose most (value projections, the second matrix of an
  // MLP). Vectors are f32. In image models kernels, embeddings of time, size and text, and the first and last layer keep their type.
  std::string type = "q4_k";
  bool pure = false;  // quantize all matrices to `type`, also the output matrix (or tied embedding), which otherwise is at least q6_k
  std::vector<std::string> rules;  // "PATTERN=TYPE": another type for names in the file; '*' matches anything, the first match decides
  // An importance matrix of the language model (hearth/language.h, in either format): types that search for their scales weight the error
  // of each column with it. A note lists the matrices that it lacks.
  std::filesystem::path imatrix;
  // Of an image model: the network to write under its original names, "transformer", "text_encoder_2"; "": the denoiser, or the only
  // network of a file; "all": all networks, with the prefixes of a single file.
  std::string component;
  std::string variant;                        // of an image model's folder: "fp16"
  int threads = 0;                            // 0: one per CPU
  OnProgress progress;                        // phase "quantize", in parameters
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: ends with Canceled
};

struct QuantizeReport : WrittenWeights {  // WrittenWeights::bytes: of the file
  std::string architecture;               // general.architecture: the family's, or that of the input GGUF file; empty if the file has none
};

// UnsupportedError for a family, configuration or tokenizer that GGUF cannot describe; WeightError for tensors that are missing, unused,
// misshapen or non-finite; UsageError for an unknown type and a rule without effect; IoError.
QuantizeReport quantize(const QuantizeRequest& request);

}  // namespace hearth
