#include "server/http/uri.h"

namespace hearth::http {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = digit_of(text[i + 1]), low = digit_of(text[i + 2]);
      if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
      decoded += char(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::optional<Target> parse_target(std::string_view text) {
  if (text == "*") return Target{"*", {}};
  bool is_absolute = false;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (text.substr(0, scheme.size()) != scheme) continue;
    text.remove_prefix(scheme.size());
    text.remove_prefix(std::min(text.find_first_of("/?"), text.size()));
    is_absolute = true;
    break;
  }
  text = text.substr(0, text.find('#'));
  const size_t mark = text.find('?');
  Target target{std::string(text.substr(0, mark)), {}};
  if (is_absolute && target.path.empty()) target.path = "/";
  if (target.path.empty() || target.path[0] != '/' || !percent_decode(target.path)) return std::nullopt;
  if (mark == std::string_view::npos) return target;
  for (const std::string_view pair : split(text.substr(mark + 1), '&')) {
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    auto name = percent_decode(pair.substr(0, equals), true);
    auto value = percent_decode(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
    if (!name || !value) return std::nullopt;
    target.query.emplace(std::move(*name), std::move(*value));
  }
  return target;
}

}  // namespace hearth::http
