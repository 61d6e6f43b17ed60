// A prompt cut into stretches of text with weights, as A1111 and as ComfyUI write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::text {

struct WeightedText {
  std::string text;
  double weight = 1;
  bool chunk_break = false;  // BREAK: what follows begins a chunk of its own

  bool operator==(const WeightedText&) const = default;
};

// A1111 (stable-diffusion-webui 1.10):
//   (a) ×1.1, [a] ÷1.1, (a:1.3) ×1.3; weights of nested brackets multiply; \( \) \[ \] \\ are the characters themselves, any other
//   backslash is left out; BREAK as a word of its own begins a chunk. Brackets that are never closed act to the end of the text; closing
//   ones without a beginning are text, and so is a number behind a colon outside of brackets. Stretches of equal weight are one.
//   A BREAK inside of brackets is a word there: its weight is the break's own, −1, times that of the brackets.
// Never empty. UsageError for a weight like 1.2.3, and for one that f32 cannot hold.
std::vector<WeightedText> a1111_weights(std::string_view text);

// ComfyUI: (a) ×1.1, (a:1.3) is 1.3 whatever is around it; \( and \) are the characters themselves. Brackets without a partner are text,
// but that a stretch from one that is never closed to a closing one at the very end counts as a pair. Empty for an empty text.
// UsageError for a weight that f32 cannot hold.
std::vector<WeightedText> comfyui_weights(std::string_view text);

// The first weight that is written in a text as both programs have it, "(word:1.3)"; empty where there is none. For who reads it as plain
// text.
std::string_view written_weight(std::string_view text);

}  // namespace hearth::text
