#include "text/clip/clip_cleaning.h"

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/unicode.h"

namespace hearth::text {

namespace {

// Collapses runs of white space to one space.
std::u32string collapse_white_space(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size());
  bool inside = false;
  for (const char32_t c : text) {
    const bool space = is_white_space(c);
    if (!space) out.push_back(c);
    if (space && !inside) out.push_back(U' ');
    inside = space;
  }
  return out;
}

std::u32string_view strip_spaces(std::u32string_view text) {
  while (!text.empty() && text.front() == U' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == U' ') text.remove_suffix(1);
  return text;
}

// The blocks that BERT's reference code calls Chinese characters.
bool is_cjk_ideograph(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
         (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b820 && c <= 0x2ceaf) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

std::u32string clean_basic(std::u32string_view text) {
  std::u32string spaced;
  spaced.reserve(text.size());
  for (const char32_t c : text) {
    if (c == U'\t' || c == U'\n' || c == U'\r' || is_space_separator(c)) {
      spaced.push_back(U' ');
    } else if (c == 0xfffd || is_other(c)) {  // including unassigned ones, even inside the blocks of ideographs
      continue;
    } else if (is_cjk_ideograph(c)) {
      spaced.append({U' ', c, U' '});
    } else {
      spaced.push_back(c);
    }
  }
  // U+2028 and U+2029 remain: they are not space separators, but white space for Python's split().
  return lower(strip_spaces(collapse_white_space(nfc(spaced))));
}

class CleaningStage : public pipeline::Normalizer {
 public:
  explicit CleaningStage(Cleaning cleaning) : cleaning_(cleaning) {}
  void apply(pipeline::Text& text) const override { text = {encode_utf8(clean(decode_utf8(text.bytes), cleaning_)), 0}; }

 private:
  Cleaning cleaning_;
};

}  // namespace

std::string_view name_of(Cleaning cleaning) {
  switch (cleaning) {
    case Cleaning::basic: return "basic";
    case Cleaning::fast: return "fast";
    default: return "ftfy";
  }
}

std::u32string clean(std::u32string_view text, Cleaning cleaning) {
  switch (cleaning) {
    case Cleaning::basic: return clean_basic(text);
    case Cleaning::fast: return lower_each(collapse_white_space(nfc(text)));
    default: return lower(strip_spaces(collapse_white_space(fix_text(text))));
  }
}

std::unique_ptr<pipeline::Normalizer> make_cleaning(Cleaning cleaning) { return std::make_unique<CleaningStage>(cleaning); }

}  // namespace hearth::text
