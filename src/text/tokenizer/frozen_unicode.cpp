#include "text/tokenizer/frozen_unicode.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include "core/text/utf8.h"
#include "text/unicode.h"

namespace hearth::text::pipeline {
namespace {

// The major version of Unicode that introduced the character; 0: unassigned.
int age(char32_t c) {
  UVersionInfo version;
  u_charAge(UChar32(c), version);
  return version[0];
}
bool known(char32_t c, int version) {
  if (c < 0x250) return true;  // all assigned in every version
  const int assigned = age(c);
  return assigned > 0 && assigned <= version;
}
constexpr int categories_version = 8, forms_version = 9;

}  // namespace

// Noncharacters like U+FFFE have no category there.
bool is_old_other(char32_t c) { return is_other(c) && u_charType(UChar32(c)) != U_UNASSIGNED && known(c, categories_version); }

bool is_old_nonspacing_mark(char32_t c) {
  // Since then, one character has left the category and four have joined it.
  if (c == 0x1734) return true;
  if (c == 0x1885 || c == 0x1886 || c == 0xa9bd || c == 0x111c9) return false;
  return is_nonspacing_mark(c) && known(c, categories_version);
}

bool is_old_punctuation(char32_t c) { return c == 0x166d || c == 0x111c9 || (is_punctuation(c) && known(c, categories_version)); }

bool is_old_combining_mark(char32_t c) {
  // Since then, two have become letters, and one has become a mark.
  if (c == 0x1cf2 || c == 0x1cf3) return true;
  return c != 0x111c9 && is_mark(c) && known(c, forms_version);
}

int old_script(char32_t c) {
  if (c == 0x589 || c == 0x61c) return USCRIPT_COMMON;  // Armenian and Arabic in later versions
  UErrorCode status = U_ZERO_ERROR;
  const int script = uscript_getScript(UChar32(c), &status);
  return script == USCRIPT_UNKNOWN || !known(c, forms_version) ? any_script : script;
}

std::string old_form(std::string_view utf8, std::u32string (*form)(std::u32string_view)) {
  const std::u32string text = decode_utf8(utf8);
  std::u32string out;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && known(text[i], forms_version)) continue;
    out += form(std::u32string_view(text).substr(begin, i - begin));
    if (i < text.size()) out += text[i];
    begin = i + 1;
  }
  return encode_utf8(out);
}

}  // namespace hearth::text::pipeline
