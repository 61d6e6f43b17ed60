#include <cmath>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/prompt/prompt_schedule.h"
#include "text/prompt/words.h"
#include "text/unicode.h"

namespace hearth::text {
namespace {

bool is_digit_or_point(char32_t c) { return c == '.' || (c >= '0' && c <= '9'); }

// "a cat : 0.7 " → "a cat", 0.7.
WeightedPrompt weighted(std::u32string_view part) {
  while (!part.empty() && is_python_space(part.back())) part.remove_suffix(1);
  size_t begin = part.size();
  while (begin > 0 && is_digit_or_point(part[begin - 1])) --begin;
  const std::u32string_view digits = part.substr(begin);
  const size_t point = digits.find('.');
  const bool number = !digits.empty() && digits != U"." && (point == digits.npos || digits.find('.', point + 1) == digits.npos);
  if (begin > 0 && (part[begin - 1] == '+' || part[begin - 1] == '-')) --begin;
  size_t colon = begin;
  while (colon > 0 && is_python_space(part[colon - 1])) --colon;
  if (!number || colon == 0 || part[colon - 1] != ':') return {encode_utf8(part), 1};
  const std::u32string_view written = part.substr(begin);
  const double weight = python_float(written).value_or(INFINITY);
  if (!std::isfinite(float(weight))) fail<UsageError>("prompt: the weight {} is too large", encode_utf8(written));
  std::u32string_view text = part.substr(0, colon - 1);
  while (!text.empty() && is_python_space(text.back())) text.remove_suffix(1);
  return {encode_utf8(text), weight};
}

}  // namespace

std::vector<WeightedPrompt> split_at_and(std::string_view prompt) {
  const std::u32string characters = decode_utf8(prompt);
  const std::u32string_view all = characters;
  std::vector<WeightedPrompt> parts;
  size_t begin = 0;
  for (size_t found; (found = find_whole_word(all, U"AND", begin)) != all.npos; begin = found + 3)
    parts.push_back(weighted(all.substr(begin, found - begin)));
  parts.push_back(weighted(all.substr(begin)));
  return parts;
}

}  // namespace hearth::text
