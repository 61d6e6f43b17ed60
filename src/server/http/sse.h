// Server-sent events (the HTML standard's text/event-stream), each of which is one Responder::write().
#pragma once

#include <string>
#include <string_view>

namespace hearth::http {

inline constexpr std::string_view sse_content_type = "text/event-stream; charset=utf-8";

// "data: …\n\n". A text of several lines becomes several data lines, which the client joins again.
std::string sse_data(std::string_view text);

// The same with "event: NAME\n" before it. Error if the name has a line break.
std::string sse_event(std::string_view name, std::string_view text);

// ": …\n\n", which clients ignore: keeps proxies from closing a silent connection. Line breaks become blanks.
std::string sse_comment(std::string_view text);

}  // namespace hearth::http
