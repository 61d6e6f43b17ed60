// Converts tensors for an output file, and writes them piece by piece: names them by its layout, fuses what the layout fuses, and converts
// the dtype if requested.
#pragma once

#include <functional>
#include <optional>

#include "weights/layout/name_map.h"
#include "weights/safetensors/safetensors.h"

namespace hearth {

struct StoredTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  Form form = form::same;             // rows: all parts, in order
  std::vector<std::string> official;  // the official tensors in it: one, or one per part
  std::shared_ptr<TensorSource> source;
};

// Every tensor of `source` (official names) under the name that `map` gives it, after `prefix`. UnsupportedError for a tensor that the
// layout has no name for or that cannot be read, and for a fused tensor that lacks a part.
std::vector<StoredTensor> stored_tensors(const std::shared_ptr<TensorSource>& source, const std::string& prefix, const NameMap& map);
// The same under their official names.
std::vector<StoredTensor> stored_tensors(const std::shared_ptr<TensorSource>& source);

// Converts floating-point tensors to `dtype` (f32, f16 or bf16). For f16, tensors with a value beyond 65504 keep their dtype; returns their
// names. Canceled.
std::vector<std::string> set_dtype(std::span<StoredTensor> tensors, DType dtype, Backend& backend);

// Splits the tensors, in order, into shards of at most `most` bytes; a larger tensor gets a shard of its own. The same split as that of
// save_pretrained (huggingface_hub).
std::vector<std::vector<StoredTensor>> in_shards(std::vector<StoredTensor> tensors, uint64_t most);

// A safetensors file to write.
struct StoredFile {
  std::string head;                   // the bytes before the data
  std::vector<StoredTensor> tensors;  // widest elements first, then by name
  uint64_t bytes = 0;                 // of the whole file
};
StoredFile stored_file(std::vector<StoredTensor> tensors, const Metadata& metadata);
// Passes the file's bytes to `write` in order, with at most one tensor in memory. Canceled; errors of reading the tensors.
void write_stored(const StoredFile& file, Backend& backend, const std::function<void(std::string_view)>& write);

}  // namespace hearth
