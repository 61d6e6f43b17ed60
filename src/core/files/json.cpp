#include "core/files/json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/error.h"
#include "core/files/file.h"

namespace hearth {
namespace {

using Json = nlohmann::json;

constexpr std::string_view mark = "hearth: not a JSON number: ";

// Bare NaN, Infinity and -Infinity become marked strings, which the parser's callback converts to numbers.
std::string with_marked_numbers(std::string_view text) {
  std::string marked;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\' && i + 1 < text.size()) marked += text[i++];
      else if (c == '"') in_text = false;
    } else {
      const auto word = [&](std::string_view name) { return text.substr(i, name.size()) == name ? name : std::string_view(); };
      const std::string_view found = std::max({word("NaN"), word("Infinity"), word("-Infinity")});
      if (!found.empty()) {
        marked.append("\"").append(mark).append(found).append("\"");
        i += found.size() - 1;
        continue;
      }
      in_text = c == '"';
    }
    marked += text[i];
  }
  return marked;
}

double marked_number(std::string_view name) {
  if (name == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return name == "Infinity" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& where) {
  constexpr size_t deepest = 100;
  const bool marks = text.find("NaN") != text.npos || text.find("Infinity") != text.npos;
  if (marks && text.find(mark) != text.npos) fail<IoError>("{}: contains the string '{}', which is reserved", where, mark);
  const std::string marked = marks ? with_marked_numbers(text) : std::string();

  std::vector<std::set<std::string>> objects;  // keys of the enclosing objects
  size_t depth = 0;
  const auto check = [&](int, Json::parse_event_t event, Json& value) {
    switch (event) {
      case Json::parse_event_t::object_start: objects.emplace_back(); [[fallthrough]];
      case Json::parse_event_t::array_start:
        if (++depth > deepest) fail<IoError>("{}: more than {} levels of lists and objects", where, deepest);
        break;
      case Json::parse_event_t::object_end: objects.pop_back(); [[fallthrough]];
      case Json::parse_event_t::array_end: --depth; break;
      case Json::parse_event_t::key:
        if (!objects.back().insert(value.get<std::string>()).second)
          fail<IoError>("{}: an object has the key '{}' twice", where, value.get<std::string>());
        break;
      case Json::parse_event_t::value:
        if (marks && value.is_string())
          if (const auto& t = value.get_ref<const std::string&>(); t.starts_with(mark))
            value = marked_number(std::string_view(t).substr(mark.size()));
        break;
    }
    return true;
  };
  try {
    return Json::parse(marks ? std::string_view(marked) : text, check);
  } catch (const Json::parse_error& e) {
    const std::string_view parsed = marks ? std::string_view(marked) : text;
    fail<IoError>("{}: invalid JSON at line {}", where, 1 + std::ranges::count(parsed.substr(0, e.byte), '\n'));
  } catch (const Json::out_of_range&) { fail<IoError>("{}: contains a number that is too large", where); }
}

nlohmann::json load_json(const std::filesystem::path& file) { return parse_json(read_file(file, int64_t(1) << 28), file.string()); }

}  // namespace hearth
