#include "core/files/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/json.h"

namespace hearth {

using Json = nlohmann::json;

struct Config::Data {
  Json json;
  std::mutex mutex;  // of the members below: concurrent runs read the same scheduler config
  std::set<std::string, std::less<>> seen;
  Json taken = Json::object();                     // the values that were read
  std::set<std::string, std::less<>> at_defaults;  // their keys, if the value is the reader's default
  std::set<std::string, std::less<>> defaults;     // the same keys of `json`, in a completed config

  void note(std::string_view key) {
    const std::lock_guard lock(mutex);
    seen.emplace(key);
  }
};

namespace {

// JSON text of the value; JSON cannot express the non-finite numbers that core/files/json.h accepts.
std::string written(const Json& value) {
  if (!value.is_number_float() || std::isfinite(value.get<double>())) return value.dump();
  return std::isnan(value.get<double>()) ? "NaN" : value.get<double>() < 0 ? "-Infinity" : "Infinity";
}

std::string shortened(const Json& value) {
  std::string text = written(value);
  if (text.size() > 80) text = text.substr(0, 77) + "…";
  return text;
}

const char* kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean: return "a boolean";
    case Json::value_t::string: return "a string";
    case Json::value_t::array: return "a list";
    case Json::value_t::object: return "an object";
    case Json::value_t::null: return "null";
    default: return "a number";
  }
}

// The entry for `key`, or nullptr if it is absent or null.
const Json* find(const Json& json, std::string_view key) {
  const auto it = json.find(key);
  return it == json.end() || it->is_null() ? nullptr : &*it;
}

[[noreturn]] void wrong_type(const std::string& where, std::string_view key, const Json& value, const char* needed) {
  fail<WeightError>("{}: '{}' is {} ({}), expected {}", where, key, kind_of(value), shortened(value), needed);
}

// A number without a fractional part that fits int64_t.
bool is_whole(const Json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>() <= uint64_t(INT64_MAX);
  if (value.is_number_integer()) return true;
  if (!value.is_number_float() || !(std::abs(value.get<double>()) < 0x1p63)) return false;
  return value.get<double>() == double(int64_t(value.get<double>()));
}

}  // namespace

Config Config::parse(std::string_view text, std::string where) {
  Config config;
  config.where_ = std::move(where);
  config.data_ = std::make_shared<Data>();
  config.data_->json = parse_json(text, config.where_);
  if (!config.data_->json.is_object()) fail<IoError>("{}: holds {}, expected a JSON object", config.where_, kind_of(config.data_->json));
  return config;
}

Config Config::load(const std::filesystem::path& file) { return parse(read_file(file, int64_t(1) << 28), file.string()); }

bool Config::has(std::string_view key) const {
  data_->note(key);
  return find(data_->json, key) != nullptr;
}

std::vector<std::string> Config::keys() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : data_->json.items()) names.push_back(key);
  return names;
}

std::string Config::dump() const { return written(data_->json); }

std::string Config::dump(std::string_view key) const {
  data_->note(key);
  const auto it = data_->json.find(key);
  return it == data_->json.end() ? "null" : written(*it);
}

namespace {

// The value that `read` converts from JSON; `otherwise` if the key is absent; WeightError if there is neither.
template <class T, class Read>
T value_or(const Json& json, const std::string& where, std::string_view key, const std::optional<T>& otherwise, const char* needed,
           Read read) {
  const Json* value = find(json, key);
  if (!value) {
    if (!otherwise) fail<WeightError>("{}: '{}' is missing, expected {}", where, key, needed);
    return *otherwise;
  }
  std::optional<T> result = read(*value);
  if (!result) wrong_type(where, key, *value, needed);
  return *result;
}

template <class T, class Read> std::optional<std::vector<T>> list_of(const Json& value, Read read) {
  if (!value.is_array()) return std::nullopt;
  std::vector<T> items;
  for (const Json& item : value) {
    const std::optional<T> one = read(item);
    if (!one) return std::nullopt;
    items.push_back(*one);
  }
  return items;
}

std::optional<int64_t> as_integer(const Json& v) {
  return is_whole(v) ? std::optional(v.is_number_integer() ? v.get<int64_t>() : int64_t(v.get<double>())) : std::nullopt;
}
std::optional<double> as_number(const Json& v) { return v.is_number() ? std::optional(v.get<double>()) : std::nullopt; }
std::optional<bool> as_boolean(const Json& v) { return v.is_boolean() ? std::optional(v.get<bool>()) : std::nullopt; }
std::optional<std::string> as_text(const Json& v) { return v.is_string() ? std::optional(v.get<std::string>()) : std::nullopt; }

}  // namespace

void Config::seen(std::string_view key) const {
  const std::lock_guard lock(data_->mutex);
  data_->seen.emplace(key);
  data_->taken.erase(std::string(key));
}

template <class T> T Config::take(std::string_view key, T value, const std::optional<T>& otherwise) const {
  const std::lock_guard lock(data_->mutex);
  data_->seen.emplace(key);
  data_->taken[std::string(key)] = value;
  if (otherwise && *otherwise == value) data_->at_defaults.emplace(key);
  else data_->at_defaults.erase(std::string(key));
  return value;
}

int64_t Config::integer(std::string_view key, std::optional<int64_t> otherwise) const {
  return take(key, value_or(data_->json, where_, key, otherwise, "a whole number", as_integer), otherwise);
}
double Config::number(std::string_view key, std::optional<double> otherwise) const {
  return take(key, value_or(data_->json, where_, key, otherwise, "a number", as_number), otherwise);
}
bool Config::boolean(std::string_view key, std::optional<bool> otherwise) const {
  return take(key, value_or(data_->json, where_, key, otherwise, "true or false", as_boolean), otherwise);
}
std::string Config::text(std::string_view key, std::optional<std::string> otherwise) const {
  return take(key, value_or(data_->json, where_, key, otherwise, "a string", as_text), otherwise);
}
std::vector<int64_t> Config::integers(std::string_view key, std::optional<std::vector<int64_t>> otherwise) const {
  const auto read = [](const Json& v) { return list_of<int64_t>(v, as_integer); };
  return take(key, value_or(data_->json, where_, key, otherwise, "a list of whole numbers", read), otherwise);
}
std::vector<double> Config::numbers(std::string_view key, std::optional<std::vector<double>> otherwise) const {
  const auto read = [](const Json& v) { return list_of<double>(v, as_number); };
  return take(key, value_or(data_->json, where_, key, otherwise, "a list of numbers", read), otherwise);
}
std::vector<std::string> Config::texts(std::string_view key, std::optional<std::vector<std::string>> otherwise) const {
  const auto read = [](const Json& v) { return list_of<std::string>(v, as_text); };
  return take(key, value_or(data_->json, where_, key, otherwise, "a list of strings", read), otherwise);
}

std::vector<int64_t> Config::integer_per_level(std::string_view key, size_t levels, std::optional<int64_t> otherwise) const {
  data_->note(key);
  const Json* value = find(data_->json, key);
  if (!value || !value->is_array()) return std::vector<int64_t>(levels, integer(key, otherwise));
  const std::vector<int64_t> list = integers(key);
  if (list.size() != levels)
    fail<WeightError>("{}: '{}' has {} entries, expected one for each of {} levels", where_, key, list.size(), levels);
  return list;
}

std::vector<bool> Config::boolean_per_level(std::string_view key, size_t levels, std::optional<bool> otherwise) const {
  data_->note(key);
  const Json* value = find(data_->json, key);
  if (!value || !value->is_array()) return std::vector<bool>(levels, boolean(key, otherwise));
  const auto list = list_of<bool>(*value, as_boolean);
  if (!list) wrong_type(where_, key, *value, "true or false, or a list of them");
  if (list->size() != levels)
    fail<WeightError>("{}: '{}' has {} entries, expected one for each of {} levels", where_, key, list->size(), levels);
  return *list;
}

Config Config::object(std::string_view key) const {
  data_->note(key);
  const Json* value = find(data_->json, key);
  if (!value) fail<WeightError>("{}: '{}' is missing, expected an object", where_, key);
  if (!value->is_object()) wrong_type(where_, key, *value, "an object");
  Config nested;
  nested.where_ = fmt::format("{}: {}", where_, key);
  nested.data_ = std::make_shared<Data>();
  nested.data_->json = *value;
  return nested;
}

void Config::only_boolean(std::string_view key, bool value) const {
  seen(key);
  if (const Json* found = find(data_->json, key); found && *found != Json(value))
    fail<UnsupportedError>("{}: '{}' = {} is not supported, only {}", where_, key, shortened(*found), value);
}
void Config::only(std::string_view key, std::initializer_list<std::string_view> values) const {
  seen(key);
  const Json* found = find(data_->json, key);
  if (!found) return;
  for (std::string_view value : values)
    if (found->is_string() && found->get_ref<const std::string&>() == value) return;
  fail<UnsupportedError>("{}: '{}' = {} is not supported, only {}", where_, key, shortened(*found), fmt::join(values, ", "));
}
void Config::only_number(std::string_view key, double value) const {
  seen(key);
  if (const Json* found = find(data_->json, key); found && !(found->is_number() && found->get<double>() == value))
    fail<UnsupportedError>("{}: '{}' = {} is not supported, only {}", where_, key, shortened(*found), value);
}
void Config::only_null(std::string_view key) const {
  seen(key);
  if (const Json* found = find(data_->json, key))
    fail<UnsupportedError>("{}: '{}' = {} is not supported, only null", where_, key, shortened(*found));
}

void Config::no_effect(std::initializer_list<std::string_view> keys) const {
  for (std::string_view key : keys) seen(key);
}

void Config::no_effect_where_off() const {
  for (const auto& [key, value] : data_->json.items()) {
    const bool empty = value.is_string() ? value.get_ref<const std::string&>().empty() : value.is_structured() && value.empty();
    if (empty || value == false || (value.is_number() && value == 0)) data_->note(key);
  }
}

bool Config::was_read(std::string_view key) const {
  const std::lock_guard lock(data_->mutex);
  return data_->seen.contains(key);
}

Config Config::copy() const {
  Config other;
  other.where_ = where_;
  other.data_ = std::make_shared<Data>();
  other.data_->json = data_->json;
  const std::lock_guard lock(data_->mutex);
  other.data_->seen = data_->seen;
  return other;
}

Config Config::taken() const {
  Config all;
  all.where_ = where_;
  all.data_ = std::make_shared<Data>();
  const std::lock_guard lock(data_->mutex);
  all.data_->json = data_->taken;
  all.data_->defaults = data_->at_defaults;
  return all;
}

void Config::means(std::string_view key, std::string_view json) const {
  const std::lock_guard lock(data_->mutex);
  data_->seen.emplace(key);
  data_->taken[std::string(key)] = Json::parse(json);
  data_->at_defaults.erase(std::string(key));
}

bool Config::is_default(std::string_view key) const { return data_->defaults.contains(key); }

void Config::finish() const {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : data_->json.items())
    if (!value.is_null() && key[0] != '_' && !data_->seen.contains(key)) unknown.push_back(fmt::format("'{}' = {}", key, shortened(value)));
  if (!unknown.empty())
    fail<UnsupportedError>("{}: unknown {}: {}", where_, unknown.size() == 1 ? "key" : "keys", fmt::join(unknown, ", "));
}

}  // namespace hearth
