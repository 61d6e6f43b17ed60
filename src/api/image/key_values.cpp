#include "api/image/key_values.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <vector>

#include "core/error.h"
#include "core/text/suggest.h"
#include "core/text/values.h"

namespace hearth::api {
namespace {

std::vector<std::string> names_of(std::span<const ValueKey> keys) {
  std::vector<std::string> names;
  for (const ValueKey& key : keys) names.emplace_back(key.name);
  return names;
}

// The word that "=" follows at this place, as a key would be written; empty: none.
std::string_view word_at(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at);
  const size_t end = rest.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
  return end != rest.npos && end > 0 && rest[end] == '=' ? rest.substr(0, end) : std::string_view();
}

// A path that exists may look as if it contained keys; others have one that is mistyped.
void require_no_other_key(std::string_view what, const std::string& path, std::span<const ValueKey> keys) {
  std::error_code error;
  if (path.find(',') == path.npos || std::filesystem::exists(path, error)) return;
  for (size_t comma = path.find(','); comma != path.npos; comma = path.find(',', comma + 1))
    if (const std::string_view word = word_at(path, comma + 1); !word.empty())
      fail<UsageError>("{}: '{}' is unknown, expected one of {}{}", what, word, fmt::join(names_of(keys), ", "),
                       did_you_mean(word, names_of(keys)));
}

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
      const std::string_view word = word_at(text, at);
      if (!word.empty())
        fail<UsageError>("{}: '{}' is unknown, expected one of {}{}", what, word, fmt::join(names_of(keys), ", "),
                         did_you_mean(word, names_of(keys)));
      fail<UsageError>("{}: '{}' does not begin with a key, expected one of {} followed by '='", what, text.substr(at),
                       fmt::join(names_of(keys), ", "));
    }
    const size_t begin = at + key->name.size() + 1;
    size_t end = text.find(',', begin);
    while (key->path && end != text.npos && !key_at(text, end + 1, keys)) end = text.find(',', end + 1);
    const std::string value = text.substr(begin, std::min(end, text.size()) - begin);
    if (key->path) require_no_other_key(what, value, keys);
    if (!values.emplace(key->name, value).second) fail<UsageError>("{}: {} is given twice, expected once", what, key->name);
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
