#include "api/image/key_values.h"

#include <fmt/ranges.h>

#include <vector>

#include "core/error.h"
#include "core/text/values.h"

namespace hearth::api {
namespace {

// The key at this place of the text, followed by "="; null: none.
const ValueKey* key_at(std::string_view text, size_t at, std::span<const ValueKey> keys) {
  for (const ValueKey& key : keys)
    if (text.substr(at).starts_with(key.name) && text.substr(at + key.name.size()).starts_with("=")) return &key;
  return nullptr;
}

}  // namespace

std::map<std::string, std::string, std::less<>> key_values(std::string_view what, const std::string& text, std::span<const ValueKey> keys) {
  std::map<std::string, std::string, std::less<>> values;
  for (size_t at = 0; at < text.size();) {
    const ValueKey* key = key_at(text, at, keys);
    if (!key) {
      std::vector<std::string_view> names;
      for (const ValueKey& k : keys) names.push_back(k.name);
      fail<UsageError>("{}: '{}' does not begin with a key, expected one of {} followed by '='", what, text.substr(at),
                       fmt::join(names, ", "));
    }
    const size_t begin = at + key->name.size() + 1;
    size_t end = text.find(',', begin);
    while (key->path && end != text.npos && !key_at(text, end + 1, keys)) end = text.find(',', end + 1);
    if (!values.emplace(key->name, text.substr(begin, std::min(end, text.size()) - begin)).second)
      fail<UsageError>("{}: {} is given twice, expected once", what, key->name);
    at = end == text.npos ? text.size() : end + 1;
  }
  return values;
}

double number_of(std::string_view what, std::string_view key, const std::string& value) {
  try {
    return parse_number(value);
  } catch (const UsageError&) { fail<UsageError>("{}: {} is '{}', expected a number", what, key, value); }
}

}  // namespace hearth::api
