// Splits a prompt into spans of text with weights, in the syntaxes of A1111 and ComfyUI.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::text {

struct WeightedText {
  std::string text;
  double weight = 1;
  bool chunk_break = false;  // BREAK: the next span starts a new chunk

  bool operator==(const WeightedText&) const = default;
};

// A1111 (stable-diffusion-webui 1.10):
//   (a) ×1.1, [a] ÷1.1, (a:1.3) ×1.3; weights of nested brackets multiply; \( \) \[ \] \\ are literal characters, other backslashes are
//   removed; the word BREAK starts a chunk. Brackets without a closing bracket extend to the end of the text; unmatched closing brackets
//   are text, and so is a number after a colon outside brackets. Neighboring spans of equal weight are joined. BREAK inside brackets is a
//   word, with the weight of the brackets times −1, the weight of a break.
// Never empty. UsageError for a weight like 1.2.3, and for one that f32 cannot represent.
std::vector<WeightedText> a1111_weights(std::string_view text);

// ComfyUI: (a) ×1.1, (a:1.3) sets 1.3 regardless of outer brackets; \( and \) are literal characters. Unmatched brackets are text, except
// that an unmatched opening bracket and a closing bracket at the very end form a pair. Empty for an empty text. UsageError for a weight
// that f32 cannot represent.
std::vector<WeightedText> comfyui_weights(std::string_view text);

// The first weight in a text in the syntax of both programs, "(word:1.3)"; empty if there is none. For a warning if the text is read as
// plain.
std::string_view written_weight(std::string_view text);

}  // namespace hearth::text
