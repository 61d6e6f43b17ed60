#include "text/template/values/pretty.h"

#include "core/text/utf8.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"
#include "text/template/values/python_text.h"

namespace hearth::text::jinja {

namespace {

constexpr int64_t page_width = 80;

// pprint's order of keys: their own where they have one, else that of their types' names.
bool key_before(const Value& a, const Value& b) {
  const bool comparable = (a.is_number() && b.is_number()) || (a.kind() == b.kind() && (a.is_text() || a.is(Kind::tuple)));
  if (!comparable) return a.type_name() < b.type_name();
  return compare(Comparison::less, a, b);
}

// The same value with the keys of every dict in order.
Value with_sorted_keys(const Value& v) {
  const Deeper deeper;
  count_steps();
  if (v.is_list_or_tuple()) {
    List items;
    for (const Value& item : v.items()) items.push_back(with_sorted_keys(item));
    return v.is(Kind::list) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
  }
  if (!v.is_dict()) return v;
  std::vector<Dict::Entry> entries = v.entries().entries();
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return key_before(a.first, b.first); });
  Dict sorted;
  for (const auto& [key, value] : entries) sorted.set(key, with_sorted_keys(value));
  return Value::dict(std::move(sorted));
}

int64_t width_of(const std::string& text) { return int64_t(count_characters(text)); }

// A line's words, each with the white space behind it.
std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> parts;
  while (!line.empty()) {
    const std::string_view behind = strip(line, Side::left);
    const size_t blank = line.size() - behind.size();
    const auto pieces = split(behind, {}, 1);
    const size_t word = blank > 0 || pieces.empty() ? 0 : pieces[0].size();
    const std::string_view rest = strip(line.substr(blank + word), Side::left);
    const size_t size = blank > 0 ? blank : line.size() - rest.size();
    parts.push_back(line.substr(0, size));
    line.remove_prefix(size);
  }
  return parts;
}

class Printer {
 public:
  // `indent`: the column of what is written; `allowance`: how many columns the closing brackets behind it take.
  void value(const Value& v, int64_t indent, int64_t allowance, int level) {
    const Deeper deeper;
    const std::string flat = repr(v);
    if (width_of(flat) <= page_width - indent - allowance) return add(flat);
    if (v.is_dict()) return dict(v.entries(), indent, allowance + 1, level + 1);
    if (v.is(Kind::list)) return list("[", v.items(), "]", indent, allowance + 1, level + 1);
    if (v.is(Kind::tuple)) {
      const char* close = v.items().size() == 1 ? ",)" : ")";
      return list("(", v.items(), close, indent, allowance + int64_t(std::string_view(close).size()), level + 1);
    }
    if (v.is_text() && !v.is_safe() && !v.text().empty()) return text(v.text(), indent, allowance, level + 1);
    add(flat);
  }

  std::string out;

 private:
  void add(std::string_view s) {
    count_steps(1 + s.size() / 256);
    out += s;
    expect_bytes(out.size());
  }

  void new_line(int64_t indent) { add(fmt::format("\n{}", std::string(size_t(indent), ' '))); }

  void dict(const Dict& dict, int64_t indent, int64_t allowance, int level) {
    add("{");
    size_t left = dict.size();
    for (const auto& [key, entry] : dict.entries()) {
      const std::string name = repr(key);
      add(name);
      add(": ");
      value(entry, indent + 1 + width_of(name) + 2, --left == 0 ? allowance : 1, level);
      if (left > 0) {
        add(",");
        new_line(indent + 1);
      }
    }
    add("}");
  }

  void list(const char* open, const List& items, const char* close, int64_t indent, int64_t allowance, int level) {
    add(open);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) {
        add(",");
        new_line(indent + 1);
      }
      value(items[i], indent + 1, i + 1 == items.size() ? allowance : 1, level);
    }
    add(close);
  }

  void text(const std::string& s, int64_t indent, int64_t allowance, int level) {
    if (level == 1) {
      ++indent;
      ++allowance;
    }
    const auto lines = split_lines(s, true);
    const int64_t room = page_width - indent;
    std::vector<std::string> chunks;
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool last_line = i + 1 == lines.size();
      const std::string whole = repr_text(lines[i]);
      if (width_of(whole) <= room - (last_line ? allowance : 0)) {
        chunks.push_back(whole);
        continue;
      }
      const auto parts = words(lines[i]);
      std::string current;
      for (size_t j = 0; j < parts.size(); ++j) {
        const bool last = last_line && j + 1 == parts.size();
        const std::string longer = current + std::string(parts[j]);
        if (width_of(repr_text(longer)) > room - (last ? allowance : 0)) {
          if (!current.empty()) chunks.push_back(repr_text(current));
          current = parts[j];
        } else {
          current = longer;
        }
      }
      if (!current.empty()) chunks.push_back(repr_text(current));
    }
    if (chunks.size() > 1 && level == 1) add("(");
    for (size_t i = 0; i < chunks.size(); ++i) {
      if (i > 0) new_line(indent);
      add(chunks[i]);
    }
    if (chunks.size() > 1 && level == 1) add(")");
  }
};

}  // namespace

std::string pretty(const Value& value) {
  Printer printer;
  printer.value(with_sorted_keys(value), 0, 0, 0);
  return std::move(printer.out);
}

}  // namespace hearth::text::jinja
