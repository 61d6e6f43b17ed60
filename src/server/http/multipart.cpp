#include "server/http/multipart.h"

#include "core/error.h"
#include "server/http/access.h"
#include "server/http/request.h"
#include "server/http/uri.h"

namespace hearth::http {
namespace {

constexpr std::string_view line_end = "\r\n";

Part read_header(std::string_view text) {
  Part part;
  bool is_form_data = false;
  while (!text.empty()) {
    const size_t end = text.find(line_end);
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) fail<UsageError>("multipart: a part's header has a line without ':'");
    const std::string_view name = trim(line.substr(0, colon)), value = trim(line.substr(colon + 1));
    if (equal_without_case(name, "content-disposition")) {
      is_form_data = media_type(value) == "form-data";
      part.name = header_parameter(value, "name");
      part.file_name = header_parameter(value, "filename");
    } else if (equal_without_case(name, "content-type")) {
      part.content_type = value;
    } else if (equal_without_case(name, "content-transfer-encoding") && !equal_without_case(value, "binary") &&
               !equal_without_case(value, "8bit") && !equal_without_case(value, "7bit")) {
      fail<UsageError>("multipart: Content-Transfer-Encoding '{}' is not supported, expected binary", value);
    }
  }
  if (!is_form_data || part.name.empty()) fail<UsageError>("multipart: a part has no 'Content-Disposition: form-data' with a name");
  return part;
}

}  // namespace

std::string header_parameter(std::string_view header, std::string_view name) {
  size_t at = std::min(header.find(';'), header.size());
  while (at < header.size()) {
    ++at;
    size_t end = header.find_first_of("=;", at);
    if (end == std::string_view::npos) return "";
    const std::string_view key = trim(header.substr(at, end - at));
    if (header[end] == ';') {
      at = end;
      continue;
    }
    at = header.find_first_not_of(" \t", end + 1);
    if (at == std::string_view::npos) return "";
    std::string value;
    if (header[at] == '"') {
      for (++at; at < header.size() && header[at] != '"'; ++at) {
        // Browsers escape only the quote; a backslash before anything else is part of a Windows path.
        if (header[at] == '\\' && at + 1 < header.size() && (header[at + 1] == '"' || header[at + 1] == '\\')) ++at;
        value += header[at];
      }
      at = std::min(header.find(';', at), header.size());
    } else {
      end = std::min(header.find(';', at), header.size());
      value = trim(header.substr(at, end - at));
      at = end;
    }
    if (equal_without_case(key, name)) return value;
  }
  return "";
}

std::vector<Part> parse_multipart(std::string_view content_type, std::string_view body, const MultipartLimits& limits) {
  if (media_type(content_type) != "multipart/form-data")
    fail<UsageError>("multipart: the Content-Type is '{}', expected multipart/form-data", media_type(content_type));
  const std::string boundary = header_parameter(content_type, "boundary");
  if (boundary.empty() || boundary.size() > 70)
    fail<UsageError>("multipart: the boundary has {} characters, expected 1 to 70", boundary.size());
  const std::string delimiter = "\r\n--" + boundary;
  const auto cut_off = [] { fail<UsageError>("multipart: the body ends before its closing boundary"); };

  std::vector<Part> parts;
  // What comes before the first boundary is ignored; it may be the body's first line.
  size_t at = body.substr(0, delimiter.size() - 2) == std::string_view(delimiter).substr(2) ? delimiter.size() - 2 : body.find(delimiter);
  if (at == std::string_view::npos) fail<UsageError>("multipart: the body does not contain its boundary");
  if (at != delimiter.size() - 2) at += delimiter.size();
  for (;;) {
    if (body.substr(at, 2) == "--") return parts;
    at = std::min(body.find_first_not_of(" \t", at), body.size());
    if (body.substr(at, 2) != line_end)
      body.size() - at < 2 ? cut_off() : fail<UsageError>("multipart: a boundary is followed by other text");
    at += 2;
    if (parts.size() >= limits.parts) fail<UsageError>("multipart: the body has too many parts, expected at most {}", limits.parts);
    const size_t header_end = body.substr(at, 2) == line_end ? at : body.substr(0, at + limits.header_bytes).find("\r\n\r\n", at);
    if (header_end == std::string_view::npos)
      fail<UsageError>("multipart: a part's header does not end within {} bytes", limits.header_bytes);
    Part part = read_header(body.substr(at, header_end - at));
    const size_t begin = header_end + (header_end == at ? 2 : 4);
    // The line end before a boundary belongs to the boundary; that of the header serves an empty part.
    const size_t end = body.find(delimiter, begin - 2);
    if (end == std::string_view::npos) cut_off();
    part.content = end < begin ? std::string_view() : body.substr(begin, end - begin);
    parts.push_back(std::move(part));
    at = end + delimiter.size();
  }
}

}  // namespace hearth::http
