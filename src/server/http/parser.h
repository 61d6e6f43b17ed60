// HTTP/1.1 requests from bytes, with Boost.Beast's parser, and without what is ambiguous (request smuggling).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/request.h"

namespace hearth::http {

// Of one request. Feed it the bytes received; it consumes those that it has understood, and the others must be fed again, with more.
class RequestParser {
 public:
  explicit RequestParser(size_t header_bytes);  // limit of the request line and all header fields together
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  enum class State { header, body, complete, bad };
  // Returns how many bytes were consumed. Stops at the end of the header, so that the caller can refuse the body or set its limit.
  size_t feed(std::string_view bytes);
  State state() const;

  // From State::body on.
  const std::string& method() const;
  const std::string& target() const;
  bool is_http11() const;
  bool keep_alive() const;
  Headers& headers();
  std::optional<uint64_t> content_length() const;  // nothing: chunked, or no body
  void limit_body(size_t bytes);                   // before the body is fed
  std::string& body();

  // State::bad: what the client gets. 400, 413 (body), 431 (header), 501 (transfer encoding), 505 (version).
  int status() const;
  const std::string& problem() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::http
