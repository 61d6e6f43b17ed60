// The state of a text in a file: its tokens, and what the model stores of them. A safetensors file:
//
//   tokens        i32 [n]
//   state.P.I     tensor I of part P (models::TextState::save); a block type as bytes u8
//   metadata      format, family, config (all keys that the model reads), weight_bytes, cache_type, context, and shapes of block types
#pragma once

#include <filesystem>

#include "models/language_model.h"

namespace hearth::api {

struct LanguageState;

// A text that a file describes and no model has taken yet.
struct SavedText {
  std::vector<int32_t> tokens;
  int64_t context = 0;
  models::TextState::Parts parts;
};

// UsageError if the model has processed no text yet. The file is written atomically.
void write_state(const std::filesystem::path& path, const LanguageState& state);
// WeightError if the file is of another model, named by its family or by the first key that differs, or of another KV cache type; IoError.
SavedText read_state(const std::filesystem::path& path, const LanguageState& state);

}  // namespace hearth::api
