// Stretched rotary positions in GGUF files: several keys, or a tensor, that together say what config.json says in one object.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/files/config.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_keys.h"

namespace hearth {

inline constexpr std::string_view gguf_rope_tensor = "rope_freqs.weight";

bool is_rope_scaling_key(std::string_view key);
// transformers' rope_scaling, or null. UnsupportedError for a type other than linear and yarn.
nlohmann::json read_rope_scaling(const GgufKeys& keys);
// `scaling` states every number of its type: rope_type and factor, and of yarn also original_max_position_embeddings, beta_fast, beta_slow,
// truncate and attention_factor. UnsupportedError for a type other than linear and yarn, and for a yarn of unusual numbers.
void write_rope_scaling(const Config& scaling, GgufKeyWriter& to);

// The numbers of rope_freqs.weight, [R/2]; empty where there is none.
std::vector<float> read_rope_divisors(const GgufFile& file);

}  // namespace hearth
