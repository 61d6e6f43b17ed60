// The split patterns that GGUF files name in tokenizer.ggml.pre: constants of the published tokenizer files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text::pipeline {

// The patterns of a name or synonym, which are applied one after another. UnsupportedError for an unknown name.
const std::vector<std::string>& patterns_of(std::string_view pre);
inline constexpr std::string_view qwen2_pre = "qwen2";
// The name to write for a pre-tokenizer that splits by these patterns; nullopt if there is none.
std::optional<std::string_view> name_of_patterns(const std::vector<std::string>& patterns);
// The canonical name of a synonym; any other name is returned unchanged.
std::string canonical_pre(std::string_view pre);

}  // namespace hearth::text::pipeline
