// Tensors as another file is to hold them: named by its layout, put together where that fuses them, in another type where asked; written
// piece by piece.
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
  Form form = form::same;             // rows: of all its parts, in order
  std::vector<std::string> official;  // what it is made of: one name, or that of each part
  std::shared_ptr<TensorSource> source;
};

// Every tensor of `source` (official names) as `map` names it, behind `prefix`. UnsupportedError for one that the layout has no name for,
// cannot be read or lacks a part of what is fused.
std::vector<StoredTensor> stored_tensors(const std::shared_ptr<TensorSource>& source, const std::string& prefix, const NameMap& map);
// The same under their official names.
std::vector<StoredTensor> stored_tensors(const std::shared_ptr<TensorSource>& source);

// Floating-point tensors become `dtype` (f32, f16 or bf16). Those with a value beyond f16's 65504 keep their type where f16 is asked: their
// names. Canceled.
std::vector<std::string> ask_for_type(std::span<StoredTensor> tensors, DType dtype, Backend& backend);

// Parts of `most` bytes at most, in the order that the tensors have; a tensor of more is alone. One part where all fit. As the reference's
// save_pretrained splits a network (huggingface_hub).
std::vector<std::vector<StoredTensor>> in_shards(std::vector<StoredTensor> tensors, uint64_t most);

// A safetensors file that is to be written.
struct StoredFile {
  std::string head;                   // what stands before the data
  std::vector<StoredTensor> tensors;  // widest elements first, then by name
  uint64_t bytes = 0;                 // all of it
};
StoredFile stored_file(std::vector<StoredTensor> tensors, const Metadata& metadata);
// Hands over its bytes in order; memory is that of one tensor. Canceled; what reading the tensors throws.
void write_stored(const StoredFile& file, Backend& backend, const std::function<void(std::string_view)>& write);

}  // namespace hearth
