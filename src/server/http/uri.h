// The target of a request.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::http {

struct Target {
  std::string path;                                       // starts with '/', percent-encoded; "*" of `OPTIONS *`
  std::map<std::string, std::string, std::less<>> query;  // decoded, first value of each name
};

// "/a%20b?x=1&y=2" and "http://host/a". Nothing if it is neither, has a bad percent escape or an encoded zero byte.
std::optional<Target> parse_target(std::string_view text);

// "a%20b" → "a b"; nothing if an escape is malformed. In a query '+' is a blank.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank = false);

std::vector<std::string_view> split(std::string_view text, char separator);  // "a//b" → "a", "", "b"
std::string_view trim(std::string_view text);                                // without blanks and tabs at both ends

}  // namespace hearth::http
