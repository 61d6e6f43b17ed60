#include "server/http/sse.h"

#include "core/error.h"

namespace hearth::http {

std::string sse_data(std::string_view text) {
  std::string event;
  event.reserve(text.size() + 16);
  for (;;) {
    const size_t end = text.find_first_of("\r\n");
    event.append("data: ").append(text.substr(0, end)).append("\n");
    if (end == std::string_view::npos) return event + "\n";
    text.remove_prefix(end + (text.substr(end, 2) == "\r\n" ? 2 : 1));
  }
}

std::string sse_event(std::string_view name, std::string_view text) {
  if (name.find_first_of("\r\n") != std::string_view::npos) fail<Error>("sse_event: the name '{}' has a line break", name);
  return std::string("event: ").append(name).append("\n") + sse_data(text);
}

std::string sse_comment(std::string_view text) {
  std::string comment = std::string(": ").append(text);
  for (char& c : comment)
    if (c == '\r' || c == '\n') c = ' ';
  return comment + "\n\n";
}

}  // namespace hearth::http
