// Where the tensors of one component lie: one safetensors file or PyTorch checkpoint, or shards that an index lists; several variants
// may stand side by side in one folder.
//
//   diffusion_pytorch_model.safetensors           model.safetensors                        full precision
//   diffusion_pytorch_model.fp16.safetensors      model.fp16.safetensors                   variant fp16
//   NAME-00001-of-00002.safetensors               NAME.safetensors.index.json              shards
//   NAME.fp16-00001-of-00002.safetensors          NAME.safetensors.index.fp16.json         shards of a variant
//   NAME-00001-of-00002.fp16.safetensors          NAME.safetensors.fp16.index.json         the same as older programs wrote it
//   diffusion_pytorch_model.bin                   pytorch_model.bin                        pickled, and so for all the others
#pragma once

#include <filesystem>

#include "weights/safetensors/safetensors.h"

namespace hearth {

struct WeightFiles {
  std::string variant;                       // "fp16"; "" for full precision
  std::filesystem::path index;               // the index of shards; empty for a single file
  std::vector<std::filesystem::path> files;  // the file, or the shards that the index lists, in the order of their names
};

// Every set of weights in a component's folder, full precision first. Empty where there is none. Where a folder holds the same
// variant twice, an index counts before a single diffusion_pytorch_model and a single model before an index, as in diffusers and
// in transformers; pickled ones count where there is no safetensors. IoError for an index that cannot be read.
std::vector<WeightFiles> find_weight_files(const std::filesystem::path& folder);

// The set of one variant. IoError that names the variants there are when it is not among them; UnsupportedError that names the
// files when the folder holds weights in other formats or under other names only (.ckpt, .pt, .pth, .msgpack, .onnx, .gguf, .h5).
WeightFiles choose_weight_files(const std::filesystem::path& folder, const std::string& variant);

// Opens and checks one file: a PyTorch checkpoint by its ending (.bin, .ckpt, .pt, .pth) unless it is safetensors all the same, anything
// else as safetensors. Errors: weights/safetensors/safetensors.h, weights/torch/torch_file.h.
std::shared_ptr<TensorSource> open_tensor_file(const std::filesystem::path& file);

// Opens and checks all files. With an index: IoError unless each shard is there and holds exactly the tensors that the index
// places in it.
std::shared_ptr<TensorSource> open_weight_files(const WeightFiles& files);

// The same where the shards lie elsewhere: `index` is the text of their index, `open` gives a shard by its name, or nothing where it is not
// there.
using OpenShard = std::function<std::shared_ptr<TensorSource>(const std::string& name)>;
std::shared_ptr<TensorSource> join_shards(std::string_view index, const std::string& where, const OpenShard& open);

}  // namespace hearth
