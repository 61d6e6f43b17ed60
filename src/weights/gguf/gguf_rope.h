// RoPE scaling in GGUF files: several keys, or a tensor, that correspond to one object of config.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/files/config.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_keys.h"

namespace hearth {

bool is_rope_scaling_key(std::string_view key);
// transformers' rope_scaling, or null; with mrope_section if the file has the key rope.dimension_sections. UnsupportedError for a type
// other than linear and yarn, and for a fourth section.
nlohmann::json read_rope_scaling(const GgufKeys& keys);
// `scaling` states all values of its type: rope_type and factor, and for yarn also original_max_position_embeddings, beta_fast, beta_slow,
// truncate and attention_factor; with mrope_section the type may be the default. UnsupportedError for a type other than linear and yarn,
// and for yarn values other than the defaults, or `truncates`.
void write_rope_scaling(const Config& scaling, bool truncates, GgufKeyWriter& to);

// The values of a vector [R/2]; empty if it does not exist.
std::vector<float> read_rope_divisors(const GgufFile& file, std::string_view tensor);

}  // namespace hearth
