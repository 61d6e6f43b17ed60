// Converts image models from one checkpoint layout to another.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <string>

#include "hearth/hearth.h"
#include "hearth/progress.h"
#include "hearth/written.h"

namespace hearth {

struct ConvertRequest {
  std::filesystem::path model;                              // as in Model::open
  std::map<std::string, std::filesystem::path> components;  // replacements, as ComponentOptions::path
  std::filesystem::path config;                             // as in OpenOptions
  bool ema = false;
  std::string variant;
  std::filesystem::path output;  // written atomically: a file, which is replaced, or a folder, which must not exist or be empty
  // "diffusers": a folder with every component, its configuration and model.safetensors or diffusion_pytorch_model.safetensors, or their
  // shards and index. "dduf": the same in one file. "single": one file in the CompVis or Stability layout, with the networks only. "gguf":
  // a GGUF file of one network or all; hearth/quantize.h writes it in types of fewer bits.
  std::string layout = "diffusers";
  // Adapters to merge into the weights that they change, which become f32 unless `type` is set. UnsupportedError with "gguf".
  std::vector<Lora> loras;
  std::string component;  // for "gguf": as QuantizeRequest::component
  std::string type;  // dtype of all floating-point tensors: "f32", "f16", "bf16"; "": as stored, with 8-bit floats widened and block types
                     // as f32; GGUF keeps block types
  int64_t max_shard_size = 10'000'000'000;    // bytes of tensors per file of a folder or DDUF; default as in diffusers
  OnProgress progress;                        // phase "convert", in bytes
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: ends with Canceled
};

struct ConvertReport : WrittenWeights {  // WrittenWeights::bytes: of the tensors
  std::string pipeline;                  // class in model_index.json
};

// Tensors are copied bit for bit unless `type` is set. Needs memory for one tensor at a time. UsageError for an unknown layout or type;
// UnsupportedError for a network that the layout has no names for; WeightError, IoError, Canceled.
ConvertReport convert(const ConvertRequest& request);

}  // namespace hearth
