// Reads the config of a language model from the metadata of a GGUF file, and writes it, by the table of its family
// (weights/gguf/gguf_architecture.h).
#pragma once

#include "core/files/config.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_architecture.h"

namespace hearth {

// The family of a file. UnsupportedError if none of `known` has its architecture.
const GgufArchitecture& gguf_architecture_of(const GgufMetadata& metadata, std::span<const GgufArchitecture> known);

// The contents of the model's config.json, with model_type, architectures and eos_token_id, and our own key rope_pairs if the rows of heads
// are interleaved. UnsupportedError for a key that has an effect and no row, WeightError for one that is missing or invalid.
Config gguf_config(const GgufFile& file, const GgufArchitecture& architecture);

// The other direction, for a completed config. UnsupportedError for a value that is not the default and has no row.
void write_gguf_config(const Config& config, const GgufArchitecture& architecture, GgufValues& values);
// The values that a GGUF file stores as vectors and not as keys, by the tensor's name.
std::map<std::string, std::vector<float>> gguf_divisors(const Config& config, const GgufArchitecture& architecture);
// The names of these vectors.
std::vector<std::string> gguf_divisor_names(const GgufArchitecture& architecture);

// Where a tensor with an official name is in a GGUF file.
struct GgufPlace {
  std::string name;
  int64_t slice = 0, slices = 1;  // of a tensor of many matrices, such as the experts of a layer
  int64_t rows = 0;               // of the matrix
};
// By official name; tensors without a name in GGUF files are left out.
std::map<std::string, GgufPlace> gguf_places_of(const std::map<std::string, TensorInfo>& tensors, const GgufArchitecture& architecture);

}  // namespace hearth
