#include "text/template/values/python_text.h"

#include <algorithm>

#include "core/text/utf8.h"
#include "text/template/budget.h"
#include "text/unicode.h"

namespace hearth::text::jinja {

namespace {

char32_t first_character(std::string_view text) {
  size_t at = 0;
  return next_character(text, at);
}

size_t next_start(std::string_view text, size_t i) {
  next_character(text, i);
  return i;
}

size_t last_start(std::string_view text, size_t end) {
  previous_character(text, end);
  return end;
}

bool is_space_at(std::string_view text, size_t i) { return is_python_space(next_character(text, i)); }

bool is_line_end(char32_t c) { return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029; }

bool is_cased(char32_t c) { return is_upper_case(c) || is_lower_case(c) || is_title_case(c); }

}  // namespace

std::string_view strip(std::string_view text, Side side, std::optional<std::string_view> characters) {
  const std::u32string set = characters ? decode_utf8(*characters) : std::u32string();
  const auto drop = [&](size_t i) {
    if (!characters) return is_space_at(text, i);
    return set.find(first_character(text.substr(i))) != std::u32string::npos;
  };
  if (side != Side::right)
    while (!text.empty() && drop(0)) text.remove_prefix(next_start(text, 0));
  if (side != Side::left)
    while (!text.empty() && drop(last_start(text, text.size()))) text = text.substr(0, last_start(text, text.size()));
  return text;
}

std::vector<std::string_view> split(std::string_view text, std::optional<std::string_view> separator, int64_t limit) {
  std::vector<std::string_view> pieces;
  if (separator) {
    for (size_t found; limit != 0 && (found = text.find(*separator)) != std::string_view::npos; --limit) {
      pieces.push_back(text.substr(0, found));
      text.remove_prefix(found + separator->size());
    }
    pieces.push_back(text);
    return pieces;
  }
  for (text = strip(text, Side::left); !text.empty(); text = strip(text, Side::left), --limit) {
    if (limit == 0) {
      pieces.push_back(text);
      break;
    }
    size_t end = 0;
    while (end < text.size() && !is_space_at(text, end)) end = next_start(text, end);
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return pieces;
}

std::vector<std::string_view> split_right(std::string_view text, std::optional<std::string_view> separator, int64_t limit) {
  std::vector<std::string_view> pieces;
  if (separator) {
    for (size_t found; limit != 0 && (found = text.rfind(*separator)) != std::string_view::npos; --limit) {
      pieces.push_back(text.substr(found + separator->size()));
      text = text.substr(0, found);
    }
    pieces.push_back(text);
  } else {
    for (text = strip(text, Side::right); !text.empty(); text = strip(text, Side::right), --limit) {
      if (limit == 0) {
        pieces.push_back(text);
        break;
      }
      size_t start = text.size();
      while (start > 0 && !is_space_at(text, last_start(text, start))) start = last_start(text, start);
      pieces.push_back(text.substr(start));
      text = text.substr(0, start);
    }
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t i = 0; i < text.size();) {
    size_t next = next_start(text, i);
    if (!is_line_end(first_character(text.substr(i)))) {
      i = next;
      continue;
    }
    if (text[i] == '\r' && next < text.size() && text[next] == '\n') ++next;
    lines.push_back(text.substr(start, (keep_ends ? next : i) - start));
    start = i = next;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

std::string replace(std::string_view text, std::string_view from, std::string_view to, int64_t limit) {
  std::string out;
  const auto grow = [&](std::string_view piece) {
    out += piece;
    expect_bytes(out.size());
  };
  if (from.empty()) {
    size_t i = 0;
    for (; limit != 0 && i <= text.size(); --limit) {
      grow(to);
      if (i == text.size()) return out;
      const size_t next = next_start(text, i);
      grow(text.substr(i, next - i));
      i = next;
    }
    return out.append(text.substr(std::min(i, text.size())));
  }
  for (size_t found; limit != 0 && (found = text.find(from)) != std::string_view::npos; --limit) {
    grow(text.substr(0, found));
    grow(to);
    text.remove_prefix(found + from.size());
  }
  grow(text);
  return out;
}

std::string upper(std::string_view text) { return encode_utf8(text::upper(decode_utf8(text))); }
std::string lower(std::string_view text) { return encode_utf8(text::lower(decode_utf8(text))); }

std::string capitalize(std::string_view text) {
  if (text.empty()) return "";
  const size_t end = next_start(text, 0);
  const std::string first = encode_utf8(text::title(first_character(text)));
  // The rest in the context of the whole: a final sigma looks back.
  return first + lower(text).substr(lower(text.substr(0, end)).size());
}

std::string title(std::string_view text) {
  const std::u32string wide = decode_utf8(text);
  std::u32string out;
  bool after_cased = false;
  for (size_t i = 0; i < wide.size(); ++i) {
    if (!after_cased) {
      out += text::title(wide[i]);
    } else if (wide[i] == 0x3a3) {  // Σ: its lower case depends on its place
      const std::u32string from_start = text::lower(wide), until = text::lower(wide.substr(0, i));
      out += from_start[until.size()];
    } else {
      out += text::lower(std::u32string_view(wide).substr(i, 1));
    }
    after_cased = is_cased(wide[i]);
  }
  return encode_utf8(out);
}

bool is_identifier(std::string_view utf8) {
  const std::u32string text = decode_utf8(utf8);
  if (text.empty() || is_decimal_digit(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [](char32_t c) { return is_word_character(c) && c != 0x200c && c != 0x200d; });
}

size_t byte_of(std::string_view text, size_t code_point) {
  size_t i = 0;
  for (; code_point > 0 && i < text.size(); --code_point) i = next_start(text, i);
  return i;
}

}  // namespace hearth::text::jinja
