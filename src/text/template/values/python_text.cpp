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

template <class Test> bool all(const std::u32string& text, Test test) {
  return !text.empty() && std::all_of(text.begin(), text.end(), test);
}

// Some character is of the case, and none of another.
bool only_case(const std::u32string& text, bool (*wanted)(char32_t), bool (*other)(char32_t)) {
  bool found = false;
  for (const char32_t c : text) {
    if (other(c) || is_title_case(c)) return false;
    found = found || wanted(c);
  }
  return found;
}

bool is_title(const std::u32string& text) {
  bool after_cased = false, found = false;
  for (const char32_t c : text) {
    if (is_upper_case(c) || is_title_case(c)) {
      if (after_cased) return false;
      after_cased = found = true;
    } else if (is_lower_case(c)) {
      if (!after_cased) return false;
      found = true;
    } else {
      after_cased = false;
    }
  }
  return found;
}

bool is_identifier(const std::u32string& text) {
  if (text.empty() || is_decimal_digit(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [](char32_t c) { return is_word_character(c) && c != 0x200c && c != 0x200d; });
}

bool is_printable(char32_t c) { return c == ' ' || (!is_other(c) && !is_space_separator(c) && c != 0x2028 && c != 0x2029); }

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
std::string case_fold(std::string_view text) { return encode_utf8(fold(decode_utf8(text))); }

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

std::string swap_case(std::string_view text) {
  std::u32string out;
  for (const char32_t c : decode_utf8(text)) {
    const std::u32string_view one(&c, 1);
    out += is_upper_case(c) ? text::lower(one) : is_lower_case(c) ? text::upper(one) : std::u32string(one);
  }
  return encode_utf8(out);
}

std::string expand_tabs(std::string_view text, int64_t size) {
  std::string out;
  int64_t column = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t next = next_start(text, i);
    if (text[i] == '\t') {
      if (size > 0) {
        const int64_t spaces = size - column % size;
        expect_bytes(out.size() + size_t(spaces));
        out.append(size_t(spaces), ' ');
        column += spaces;
      }
    } else {
      column = text[i] == '\n' || text[i] == '\r' ? 0 : column + 1;
      out += text.substr(i, next - i);
    }
    i = next;
  }
  return out;
}

std::optional<bool> has_property(std::string_view utf8, std::string_view property) {
  const std::u32string text = decode_utf8(utf8);
  if (property == "digit") return all(text, is_digit);
  if (property == "decimal") return all(text, is_decimal_digit);
  if (property == "numeric") return all(text, is_numeric);
  if (property == "alpha") return all(text, is_letter);
  if (property == "alnum") return all(text, [](char32_t c) { return is_letter(c) || is_numeric(c); });
  if (property == "space") return all(text, is_python_space);
  if (property == "upper") return only_case(text, is_upper_case, is_lower_case);
  if (property == "lower") return only_case(text, is_lower_case, is_upper_case);
  if (property == "title") return is_title(text);
  if (property == "ascii") return text.empty() || all(text, [](char32_t c) { return c < 0x80; });
  if (property == "identifier") return is_identifier(text);
  if (property == "printable") return text.empty() || all(text, is_printable);
  return {};
}

std::string padded(std::string_view text, int64_t width, std::string_view fill, Side where) {
  const auto size = int64_t(count_characters(text));
  if (width <= size) return std::string(text);
  const int64_t missing = width - size;
  // str.center: the odd one goes left where the width is odd.
  const int64_t left = where == Side::left ? missing : where == Side::right ? 0 : missing / 2 + (missing & width & 1);
  expect_bytes(text.size() + size_t(missing) * fill.size());
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += text;
  for (int64_t i = left; i < missing; ++i) out += fill;
  return out;
}

size_t byte_of(std::string_view text, size_t code_point) {
  size_t i = 0;
  for (; code_point > 0 && i < text.size(); --code_point) i = next_start(text, i);
  return i;
}

}  // namespace hearth::text::jinja
