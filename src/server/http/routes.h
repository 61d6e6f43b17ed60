// Which handler answers which request.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/request.h"
#include "server/http/responder.h"

namespace hearth::http {

// May answer at once, or keep the responder and answer later. What it throws becomes a 500 without details, and a note in the log.
using Handler = std::function<void(Request, Responder)>;

struct RouteOptions {
  bool open = false;     // needs no API key
  bool at_once = false;  // runs on the thread of the connections, before all others and under any load: for /health and /metrics, which
                         // never wait for anything
  std::optional<size_t> body_bytes;          // instead of ServerLimits::body_bytes
  std::optional<size_t> stream_queue_bytes;  // instead of ServerLimits::stream_queue_bytes
  std::vector<std::string> content_types;    // of a request with a body, without parameters; others are a 415. Empty: any
};

struct Route {
  std::string method, pattern;
  Handler handler;
  RouteOptions options;
};

class Routes {
 public:
  // The pattern is a path whose segments are words, `{name}` for one segment that is not empty, or at the end `{name*}` for all that
  // follows, slashes included. Where several patterns match, the first segment that differs decides: a word is before {name}, that before
  // {name*}. UsageError for a malformed pattern, or for a pattern and method that exist already.
  void add(std::string method, std::string pattern, Handler handler, RouteOptions options = {});

  struct Match {
    const Route* route = nullptr;                            // null: a 404 if `allowed` is empty, else a 405
    std::map<std::string, std::string, std::less<>> params;  // decoded
    std::vector<std::string> allowed;                        // methods of the patterns that match, with HEAD and OPTIONS
  };
  // The path is percent-encoded and valid (uri.h).
  Match find(std::string_view method, std::string_view path) const;

 private:
  struct Pattern {
    std::string text;
    std::vector<std::string> segments;
    std::map<std::string, Route, std::less<>> methods;
  };
  std::vector<Pattern> patterns_;
};

}  // namespace hearth::http
