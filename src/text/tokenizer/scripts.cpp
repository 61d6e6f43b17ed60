#include "text/tokenizer/scripts.h"

#include <unicode/uscript.h>

#include "core/text/utf8.h"
#include "text/tokenizer/frozen_unicode.h"

namespace hearth::text::pipeline {
namespace {

int script_of(char32_t c) {
  if (c == ' ') return any_script;
  const int script = c == 0x30fc ? USCRIPT_HAN : old_script(c);
  return script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ? USCRIPT_HAN : script;
}

}  // namespace

// A text of only spaces has no run, as in the reference.
std::vector<Span> script_runs(std::string_view utf8) {
  std::vector<Span> runs;
  int last = -2;  // none yet
  for (size_t at = 0; at < utf8.size();) {
    const size_t begin = at;
    const int script = script_of(next_character(utf8, at));
    if (script == any_script) continue;
    if (script != last) {
      if (!runs.empty()) runs.back().end = begin;
      runs.push_back({begin, utf8.size()});
    }
    last = script;
  }
  return runs;
}

}  // namespace hearth::text::pipeline
