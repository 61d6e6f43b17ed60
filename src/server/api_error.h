// What a request is refused with. Each API writes it in its own form.
#pragma once

#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace hearth::server {

struct ApiError : std::runtime_error {
  ApiError(int s, const std::string& message, std::string p = "", std::string c = "")
      : std::runtime_error(message), status(s), param(std::move(p)), code(std::move(c)) {}

  int status;                               // of HTTP
  std::string param;                        // the field: "messages[2].content"; empty: none
  std::string code;                         // "model_not_found"; empty: none
  std::optional<int64_t> retry_after = {};  // seconds, for 429 and 503
};

// The error of an exception: what the library refuses becomes 400, a full queue 429, an engine that ends 503, anything else 500 without
// details. Call inside a catch block, or with a captured exception.
ApiError api_error(std::exception_ptr error);

// The same with other names in place of the first ones in its field and its message: an API has its own names for what parts that all APIs
// share complain about.
ApiError with_names(const ApiError& error, std::initializer_list<std::pair<std::string_view, std::string_view>> names);

}  // namespace hearth::server
