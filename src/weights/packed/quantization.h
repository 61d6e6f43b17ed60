// Folders of language models whose config.json has a "quantization_config": which method it is, and the weights that it means.
//
//   gptq, awq           packed_linears.h
//   mxfp4               mxfp4.h
//   fp8, modelopt       block_float8.h
//   bitsandbytes        bitsandbytes.h
//   compressed-tensors  compressed_tensors.h
#pragma once

#include "core/files/config.h"
#include "hearth/quantized_weights.h"
#include "weights/weights.h"

namespace hearth {

struct Unpacked {
  std::shared_ptr<TensorSource> tensors;
  std::vector<std::string> unneeded;  // names that may stay unread
  QuantizedWeights quantized;         // without a method if nothing states one
};

// The source itself if nothing in the folder states a method: config.json, quantize_config.json (gptq) or hf_quant_config.json (modelopt).
// UnsupportedError that names any other method.
Unpacked unpacked_by_config(std::shared_ptr<TensorSource> source, const Config& config, const std::filesystem::path& folder);

}  // namespace hearth
