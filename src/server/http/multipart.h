// multipart/form-data (RFC 7578): the bodies of image edits and transcriptions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::http {

struct Part {
  std::string name;
  std::string file_name;     // as the client calls the file, which may be anything: never a path to open; empty for a plain field
  std::string content_type;  // empty if the part has none
  std::string_view content;  // points into the body
};

struct MultipartLimits {
  size_t parts = 128;
  size_t header_bytes = 4096;  // of one part
};

// The parts in their order. UsageError in one line, for a 400, if the content type has no boundary, or the body is malformed or beyond
// the limits.
std::vector<Part> parse_multipart(std::string_view content_type, std::string_view body, const MultipartLimits& limits = {});

// A parameter of a header: of `form-data; name="a \"b\""` that of `name` is `a "b"`. Empty if absent.
std::string header_parameter(std::string_view header, std::string_view name);

}  // namespace hearth::http
