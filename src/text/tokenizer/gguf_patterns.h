// The split patterns that GGUF files name in tokenizer.ggml.pre: constants of the published tokenizer files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text::pipeline {

// The patterns of one name or synonym, which are applied one after another. UnsupportedError names one that is not known.
const std::vector<std::string>& patterns_of(std::string_view pre);
inline constexpr std::string_view qwen2_pre = "qwen2";
// The name under which a file is written whose pre-tokenizer splits by these patterns; nothing where there is none.
std::optional<std::string_view> name_of_patterns(const std::vector<std::string>& patterns);
// The name that a synonym stands for, itself for another.
std::string canonical_pre(std::string_view pre);

}  // namespace hearth::text::pipeline
