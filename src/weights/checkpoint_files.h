// The weight files of one component: one safetensors file or PyTorch checkpoint, or shards that an index lists. A folder may hold several
// variants.
//
//   diffusion_pytorch_model.safetensors           model.safetensors                        full precision
//   diffusion_pytorch_model.fp16.safetensors      model.fp16.safetensors                   variant fp16
//   NAME-00001-of-00002.safetensors               NAME.safetensors.index.json              shards
//   NAME.fp16-00001-of-00002.safetensors          NAME.safetensors.index.fp16.json         shards of a variant
//   NAME-00001-of-00002.fp16.safetensors          NAME.safetensors.fp16.index.json         the same, as older versions wrote it
//   diffusion_pytorch_model.bin                   pytorch_model.bin                        pickled; likewise for all of the above
#pragma once

#include <filesystem>

#include "weights/safetensors/safetensors.h"

namespace hearth {

struct WeightFiles {
  std::string variant;                       // "fp16"; "" for full precision
  std::filesystem::path index;               // the index of shards; empty for a single file
  std::vector<std::filesystem::path> files;  // the file, or the shards that the index lists, in the order of their names
};

// Every set of weights in a component's folder, full precision first; empty if there is none. If a folder holds the same variant twice, an
// index takes precedence over a single diffusion_pytorch_model, as in diffusers, and a single model over an index, as in transformers.
// Pickled files are used only without safetensors. IoError for an index that cannot be read.
std::vector<WeightFiles> find_weight_files(const std::filesystem::path& folder);

// The set of one variant. IoError that lists the available variants if it is not among them; UnsupportedError that lists the files if the
// folder holds weights only in other formats or under other names (.ckpt, .pt, .pth, .msgpack, .onnx, .gguf, .h5).
WeightFiles choose_weight_files(const std::filesystem::path& folder, const std::string& variant);

// Size of a file, or of all safetensors and PyTorch files below a folder.
int64_t weight_files_bytes(const std::filesystem::path& path);

// Opens and checks one file: GGUF by its first bytes (all files of a split model); the extensions .bin, .ckpt, .pt and .pth are PyTorch
// checkpoints, unless the contents are safetensors; everything else is read as safetensors. Errors: weights/gguf/gguf.h,
// weights/safetensors/safetensors.h, weights/torch/torch_file.h.
std::shared_ptr<TensorSource> open_tensor_file(const std::filesystem::path& file);

// Opens and checks all files. With an index: IoError unless each shard exists and holds exactly the tensors that the index assigns to it.
std::shared_ptr<TensorSource> open_weight_files(const WeightFiles& files);

// The same for shards that are not files of their own: `index` is the text of their index, and `open` returns a shard by its name, or
// nullptr if it does not exist.
using OpenShard = std::function<std::shared_ptr<TensorSource>(const std::string& name)>;
std::shared_ptr<TensorSource> join_shards(std::string_view index, const std::string& where, const OpenShard& open);

}  // namespace hearth
