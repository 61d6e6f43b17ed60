// The text that A1111's web UI writes to an image (PNG text `parameters`) and that most tools read:
//
//   a red house
//   Negative prompt: blurry
//   Steps: 20, Sampler: DPM++ 2M, Schedule type: Karras, CFG scale: 7.5, Seed: 1, Size: 512x512, Model: "a, b"
//
// The settings are the last line. A value with a comma, colon, line break or quotation mark is a JSON string.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

// The keyword of this text, and that of our own metadata (api/settings/recipe.h).
inline constexpr std::string_view parameters_keyword = "parameters", recipe_keyword = "hearth";

struct Parameters {
  std::string prompt, negative_prompt;
  std::vector<std::pair<std::string, std::string>> settings;  // in the order of the file; a name may occur twice

  const std::string* find(std::string_view name) const;  // the first value of that name; nullptr if there is none

  friend bool operator==(const Parameters&, const Parameters&) = default;
};

// UsageError for a setting whose name the format does not allow, and for a value or prompt that is not UTF-8. A name has at least two
// characters, letters, digits and "_ -/", starts with a letter, digit or '_', and does not end with a space.
//
// The format is ambiguous: parse_parameters() misreads a line of the prompt that starts with "Negative prompt:". Our own metadata preserve
// every prompt.
std::string write_parameters(const Parameters& parameters);

// Never fails. If the last line does not look like settings (fewer than three, A1111's rule), all lines belong to the prompt. Line breaks
// may be CR LF.
Parameters parse_parameters(std::string_view text);

}  // namespace hearth
