#include "server/http/routes.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "server/http/uri.h"

namespace hearth::http {
namespace {

bool is_name(std::string_view segment) { return segment.size() > 2 && segment.front() == '{' && segment.back() == '}'; }
bool is_rest(std::string_view segment) { return is_name(segment) && segment[segment.size() - 2] == '*'; }

// Smaller is better: a word, {name}, {name*}.
int rank(std::string_view segment) { return is_rest(segment) ? 2 : is_name(segment) ? 1 : 0; }

std::string decoded(std::string_view text) { return percent_decode(text).value_or(""); }

// The parts of the path that the names of the pattern stand for; nothing if the pattern does not match.
std::optional<std::map<std::string, std::string, std::less<>>> match(const std::vector<std::string>& pattern,
                                                                     const std::vector<std::string_view>& path) {
  std::map<std::string, std::string, std::less<>> params;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view segment = pattern[i];
    if (i >= path.size()) return std::nullopt;
    if (is_rest(segment)) {
      const char* begin = path[i].data();
      const std::string_view rest(begin, size_t(path.back().data() + path.back().size() - begin));
      if (rest.empty()) return std::nullopt;
      params.emplace(segment.substr(1, segment.size() - 3), decoded(rest));
      return params;
    }
    if (is_name(segment)) {
      if (path[i].empty()) return std::nullopt;
      params.emplace(segment.substr(1, segment.size() - 2), decoded(path[i]));
    } else if (decoded(path[i]) != segment) {
      return std::nullopt;
    }
  }
  if (path.size() != pattern.size()) return std::nullopt;
  return params;
}

}  // namespace

void Routes::add(std::string method, std::string pattern, Handler handler, RouteOptions options) {
  const auto refuse = [&](const char* problem) { fail<UsageError>("route {} {}: {}", method, pattern, problem); };
  if (pattern.empty() || pattern[0] != '/') refuse("a pattern starts with '/'");
  if (method.empty() || method == "HEAD" || method == "OPTIONS")
    refuse("HEAD and OPTIONS are answered for every route, expected another method");
  if (!handler) refuse("has no handler");
  std::vector<std::string> segments;
  for (const std::string_view segment : split(std::string_view(pattern).substr(1), '/')) {
    if (!segments.empty() && is_rest(segments.back())) refuse("{name*} must be the last segment");
    if (!is_name(segment) && segment.find_first_of("{}*") != std::string_view::npos) refuse("a segment is a word, {name} or {name*}");
    segments.emplace_back(segment);
  }
  auto known = std::find_if(patterns_.begin(), patterns_.end(), [&](const Pattern& p) { return p.text == pattern; });
  if (known == patterns_.end()) {
    // The best patterns first, so that find() takes the first that matches.
    const auto before = [](const std::string& a, const std::string& b) { return rank(a) < rank(b); };
    const auto place = std::find_if(patterns_.begin(), patterns_.end(), [&](const Pattern& p) {
      return std::lexicographical_compare(segments.begin(), segments.end(), p.segments.begin(), p.segments.end(), before);
    });
    known = patterns_.insert(place, {pattern, std::move(segments), {}});
  }
  if (known->methods.count(method)) refuse("exists already");
  known->methods.emplace(method, Route{method, pattern, std::move(handler), std::move(options)});
}

Routes::Match Routes::find(std::string_view method, std::string_view path) const {
  Match result;
  if (path.empty() || path[0] != '/') return result;
  const std::vector<std::string_view> segments = split(path.substr(1), '/');
  std::set<std::string> allowed;
  for (const Pattern& pattern : patterns_) {
    auto params = match(pattern.segments, segments);
    if (!params) continue;
    auto found = pattern.methods.find(method);
    if (found == pattern.methods.end() && method == "HEAD") found = pattern.methods.find("GET");
    if (found != pattern.methods.end()) return {&found->second, std::move(*params), {}};
    for (const auto& [name, route] : pattern.methods) {
      allowed.insert(name);
      if (name == "GET") allowed.insert("HEAD");
    }
    allowed.insert("OPTIONS");
  }
  result.allowed.assign(allowed.begin(), allowed.end());
  return result;
}

}  // namespace hearth::http
