// What a handler receives: a parsed request.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::http {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

// Header fields in the order of the request. Names compare without case.
class Headers {
 public:
  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  std::string_view get(std::string_view name) const;  // the first field of that name; empty if there is none
  size_t count(std::string_view name) const;
  const HeaderList& all() const { return fields_; }

 private:
  HeaderList fields_;
};

// Whether two texts are equal but for the case of ASCII letters.
bool equal_without_case(std::string_view a, std::string_view b);

struct Request {
  std::string method;                                      // "GET"; a HEAD request reaches the handler of GET as "HEAD"
  std::string path;                                        // as sent, without the query: still percent-encoded
  std::map<std::string, std::string, std::less<>> params;  // of the route's pattern, decoded
  std::map<std::string, std::string, std::less<>> query;   // decoded; the first value of a name that occurs twice
  Headers headers;
  std::string body;
  std::string id;      // X-Request-Id of the client, or generated
  std::string client;  // "127.0.0.1:40312", "[::1]:40312", or "unix"
  bool is_https = false;

  std::string_view param(std::string_view name) const;        // empty if the pattern has no such name
  std::string_view query_value(std::string_view name) const;  // empty if absent
};

}  // namespace hearth::http
