#include "server/http/request.h"

#include <algorithm>

namespace hearth::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; }

std::string_view found(const std::map<std::string, std::string, std::less<>>& values, std::string_view name) {
  const auto it = values.find(name);
  return it == values.end() ? std::string_view() : std::string_view(it->second);
}

}  // namespace

bool equal_without_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view Headers::get(std::string_view name) const {
  for (const auto& [key, value] : fields_)
    if (equal_without_case(key, name)) return value;
  return {};
}

size_t Headers::count(std::string_view name) const {
  return size_t(std::count_if(fields_.begin(), fields_.end(), [&](const auto& field) { return equal_without_case(field.first, name); }));
}

std::string_view Request::param(std::string_view name) const { return found(params, name); }
std::string_view Request::query_value(std::string_view name) const { return found(query, name); }

}  // namespace hearth::http
