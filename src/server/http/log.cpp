#include <fmt/format.h>

#include "server/http/options.h"

namespace hearth::http {
namespace {

constexpr size_t longest_path = 256;

// Printable ASCII, the rest as \x1b: a client must neither break the line nor control a terminal.
std::string printable(std::string_view text) {
  if (text.empty()) return "-";
  std::string result;
  for (const char c : text.substr(0, longest_path)) {
    if (c > ' ' && c <= '~' && c != '\\') {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > longest_path) result += "...";
  return result;
}

}  // namespace

std::string line_of(const LogEntry& entry) {
  std::string line = fmt::format("{} {} {} {} {} bytes {:.1f} ms {}", printable(entry.client), printable(entry.method),
                                 printable(entry.path), entry.status, entry.bytes, entry.milliseconds, printable(entry.id));
  if (!entry.complete) line += " incomplete";
  if (!entry.note.empty()) {
    line += ": ";
    for (const char c : entry.note) line += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? ' ' : c;
  }
  return line;
}

ErrorPage plain_error_page(const ErrorReport& report) { return {"text/plain; charset=utf-8", report.message + "\n"}; }

}  // namespace hearth::http
