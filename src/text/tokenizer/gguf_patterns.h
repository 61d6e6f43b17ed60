// The split patterns that GGUF files name in tokenizer.ggml.pre: constants of the published tokenizer files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::text::pipeline {

// The patterns of one name or synonym, which are applied one after another. UnsupportedError names one that is not known.
const std::vector<std::string>& patterns_of(std::string_view pre);
// The name that a synonym stands for, itself for another.
std::string canonical_pre(std::string_view pre);

}  // namespace hearth::text::pipeline
