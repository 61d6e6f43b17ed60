// Reading the JSON of a request. Everything that is wrong is an ApiError 400 that names the field by its path: "tools[0].function.name".
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"

namespace hearth::server {

using Json = nlohmann::ordered_json;

// The body as JSON. ApiError 400 for what is not JSON, nested more than 200 deep, or not an object.
Json parse_body(std::string_view body);

// An object of the request. A field that is absent or null gives nullopt.
class Fields {
 public:
  explicit Fields(const Json& object, std::string path = "");  // the object must outlive it

  bool has(std::string_view name) const;  // present and not null
  std::optional<std::string> text(std::string_view name) const;
  std::optional<bool> flag(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name, int64_t least, int64_t most) const;  // also 3.0
  std::optional<double> number(std::string_view name, double least, double most) const;
  // One of these words.
  std::optional<std::string> word(std::string_view name, std::span<const std::string_view> allowed) const;
  // A text or a list of texts.
  std::optional<std::vector<std::string>> texts(std::string_view name) const;
  const Json* value(std::string_view name) const;  // of any type; nullptr if absent or null
  const Json* list(std::string_view name) const;   // an array
  std::optional<Fields> object(std::string_view name) const;
  std::string need_text(std::string_view name) const;  // ApiError if absent
  const Json& need(std::string_view name) const;

  const Json& json() const { return *object_; }
  std::string path_of(std::string_view name) const;
  std::string path_of(size_t index) const;  // of an element of an array at this path
  // ApiError 400 about a field: "path: message".
  [[noreturn]] void refuse(std::string_view name, const std::string& message, const std::string& code = "") const;

 private:
  const Json* object_;
  std::string path_;
};

}  // namespace hearth::server
