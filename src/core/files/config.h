// A checkpoint's own JSON configuration, read so that nothing in it is silently ignored: every key is read, declared to have one
// supported value, declared to have no effect, or refused by name.
//
//   Config c = Config::load(folder / "unet/config.json");
//   channels = c.integers("block_out_channels");
//   c.only("dual_cross_attention", false);        // another value: UnsupportedError that names key, value and file
//   c.no_effect({"sample_size", "dropout"});
//   c.finish();                                   // UnsupportedError for every key that was not read
#pragma once

#include <concepts>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

class Config {
 public:
  // IoError for a missing file or malformed JSON (core/files/json.h), or if the top level is not an object.
  static Config load(const std::filesystem::path& file);
  static Config parse(std::string_view text, std::string where);

  const std::string& where() const { return where_; }  // for messages: the file's path
  bool has(std::string_view key) const;                // present and not null; counts as read
  std::vector<std::string> keys() const;
  std::string dump() const;                      // everything, as JSON text; reads no key
  std::string dump(std::string_view key) const;  // the value as JSON text; counts as read

  // The value; if it is absent or null, the default. WeightError if there is no default, or if the value has another type.
  int64_t integer(std::string_view key, std::optional<int64_t> otherwise = {}) const;
  double number(std::string_view key, std::optional<double> otherwise = {}) const;
  bool boolean(std::string_view key, std::optional<bool> otherwise = {}) const;
  std::string text(std::string_view key, std::optional<std::string> otherwise = {}) const;
  std::vector<int64_t> integers(std::string_view key, std::optional<std::vector<int64_t>> otherwise = {}) const;
  std::vector<double> numbers(std::string_view key, std::optional<std::vector<double>> otherwise = {}) const;
  std::vector<std::string> texts(std::string_view key, std::optional<std::vector<std::string>> otherwise = {}) const;
  // One integer for all levels, or a list with one entry per level (WeightError for another length).
  std::vector<int64_t> integer_per_level(std::string_view key, size_t levels, std::optional<int64_t> otherwise = {}) const;
  std::vector<bool> boolean_per_level(std::string_view key, size_t levels, std::optional<bool> otherwise = {}) const;
  Config object(std::string_view key) const;  // the nested object

  // The key may be absent, null or have one of these values; anything else is UnsupportedError "… is not supported".
  // (A template, so that a list of one string does not become a bool.)
  void only(std::string_view key, std::same_as<bool> auto value) const { only_boolean(key, value); }
  void only(std::string_view key, std::initializer_list<std::string_view> values) const;
  void only_number(std::string_view key, double value) const;
  void only_null(std::string_view key) const;
  // Keys that do not affect the result.
  void no_effect(std::initializer_list<std::string_view> keys) const;
  // Keys that are false, 0 or empty, for features that the network does not have.
  void no_effect_where_off() const;
  // UnsupportedError that names every key that was not read, unless its value is null or the key starts with '_'.
  void finish() const;

  // Whether any of the functions above was called with the key.
  bool was_read(std::string_view key) const;
  // Everything that read(config) reads, defaults included: what the file would contain if it stated all that it means. Of a key that is
  // read several times the last value counts; no_effect() and only() remove it, and means() replaces it. Nested objects are left out.
  template <class F> Config completed(F read) const {
    const Config config = copy();
    read(config);
    return config.taken();
  }
  // The reader's conclusion about a key, as JSON text: null of a key that has another default then, or an object in its simplest form.
  void means(std::string_view key, std::string_view json) const;
  // In a completed config: whether the value is the default that its reader takes if the key is absent.
  bool is_default(std::string_view key) const;

 private:
  void only_boolean(std::string_view key, bool value) const;
  Config copy() const;
  Config taken() const;                   // the values that were read
  void seen(std::string_view key) const;  // and no longer among them
  template <class T> T take(std::string_view key, T value, const std::optional<T>& otherwise) const;

  struct Data;
  std::shared_ptr<Data> data_;
  std::string where_;
};

}  // namespace hearth
