// Image models from one safetensors layout into another.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <string>

#include "hearth/progress.h"
#include "hearth/written.h"

namespace hearth {

struct ConvertRequest {
  std::filesystem::path model;                              // whatever Model::open takes
  std::map<std::string, std::filesystem::path> components;  // in place of the checkpoint's own, as ComponentOptions::path
  std::filesystem::path config;                             // as in OpenOptions
  bool ema = false;
  std::string variant;
  std::filesystem::path output;  // appears whole or not at all: a file, which is replaced, or a folder, which must not be there or be empty
  // "diffusers": a folder with every component, its configuration and model.safetensors or diffusion_pytorch_model.safetensors, or shards
  // of these and their index. "dduf": the same in one file. "single": one file in the layout of CompVis or Stability,
  // networks alone.
  std::string layout = "diffusers";
  std::string type;                           // of all floating-point tensors: "f32", "f16", "bf16"; "" as stored, 8-bit floats widened
  int64_t max_shard_size = 10'000'000'000;    // bytes of the tensors in one file of a folder or of DDUF, as the reference's default
  OnProgress progress;                        // phase "convert", in bytes
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: ends with Canceled
};

struct ConvertReport : WrittenWeights {  // bytes: of the tensors
  std::string pipeline;                  // class in model_index.json
};

// Tensors are copied bit for bit unless another type is asked for; memory is that of one tensor. UsageError for an unknown layout or type;
// UnsupportedError for a network that the layout has no names for; WeightError, IoError, Canceled.
ConvertReport convert(const ConvertRequest& request);

}  // namespace hearth
