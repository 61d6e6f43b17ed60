// Who may ask: API keys, host names, origins of web pages.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/request.h"

namespace hearth::http {

// API keys, of which only SHA-256 digests are kept.
class KeyRing {
 public:
  explicit KeyRing(const std::vector<std::string>& keys);  // UsageError for a key that is empty or has blanks
  bool empty() const { return digests_.empty(); }
  // Whether `Authorization: Bearer KEY` or `x-api-key: KEY` has one of the keys; true if there are none. The time taken depends neither on
  // the keys nor on how much of one matches.
  bool admits(const Headers& headers) const;

 private:
  std::vector<std::array<unsigned char, 32>> digests_;
};

// Web pages that may read responses: a list of origins, compared as a whole, or "*" for every page, which then gets no credentials.
class Origins {
 public:
  explicit Origins(std::vector<std::string> allowed);  // UsageError for what is not "*" or SCHEME://HOST[:PORT]
  // The CORS headers of a response to a request with these headers; none for an origin that is not allowed.
  HeaderList headers_for(const Headers& request) const;
  // The headers of a preflight's response; nothing if the origin is not allowed.
  std::optional<HeaderList> preflight(const Headers& request, const std::vector<std::string>& methods) const;
  // Whether the request comes from a web page that is neither allowed nor of the host that it asks.
  bool is_foreign(const Headers& request) const;

 private:
  bool allows(std::string_view origin) const;
  std::vector<std::string> allowed_;
  bool all_ = false;
};

// Whether the Host header names this computer (localhost, a loopback address) or one of `names`. It stops a web page that lets its own name
// resolve to a loopback address (DNS rebinding).
bool is_own_host(std::string_view host, const std::vector<std::string>& names);

// The client's id if it consists of at most 128 letters, digits, '.', '_', '-' and ':', else a new one of 32 hexadecimal digits.
std::string request_id(std::string_view from_client);

// A header's value of one token, as in `Content-Type: TOKEN; …`, in lower case.
std::string media_type(std::string_view content_type);

}  // namespace hearth::http
