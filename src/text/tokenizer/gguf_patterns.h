// What the names in tokenizer.ggml.pre of GGUF files stand for: constants of the published tokenizer files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text::pipeline {

struct SplitRules {
  std::vector<std::string> patterns;  // applied one after another
  bool nfc = false;                   // the text is normalized first
  bool ignore_merges = false;         // a piece that is a token is not split
  bool adds_bos = false;              // if the file does not say whether

  bool operator==(const SplitRules&) const = default;
};

// The rules of a name or synonym. UnsupportedError for an unknown name.
const SplitRules& split_rules(std::string_view pre);
inline constexpr std::string_view qwen2_pre = "qwen2";
// The name that a file states for a pre-tokenizer with these rules. adds_bos is not compared. nullopt if no name has these rules.
std::optional<std::string_view> name_of_rules(SplitRules rules);

}  // namespace hearth::text::pipeline
