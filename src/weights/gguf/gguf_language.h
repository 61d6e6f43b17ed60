// What GGUF files of language models have in place of config.json, read and written by the table of a family
// (weights/gguf/gguf_architecture.h).
#pragma once

#include "core/files/config.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_architecture.h"

namespace hearth {

// The family of a file. UnsupportedError where none of `known` has its architecture.
const GgufArchitecture& gguf_architecture_of(const GgufMetadata& metadata, std::span<const GgufArchitecture> known);

// The config that the model's own config.json would have held, with model_type, architectures and eos_token_id, and rope_pairs (of our own)
// where rows are neighbors. UnsupportedError for a key that says something and has no row, WeightError for one that is missing or cannot
// be.
Config gguf_config(const GgufFile& file, const GgufArchitecture& architecture);

// The other direction, for a config that states everything. UnsupportedError for a key that has no row.
void write_gguf_config(const Config& config, const GgufArchitecture& architecture, GgufValues& values);
// What the config says in a tensor and not in a key: the numbers of rope_freqs.weight, empty where it has none.
std::vector<float> gguf_rope_divisors(const Config& config, const GgufArchitecture& architecture);

}  // namespace hearth
