#include "server/http/parser.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>

namespace hearth::http {

namespace beast = boost::beast;
using BeastParser = beast::http::basic_parser<true>;
using ErrorCode = beast::error_code;

class RequestParser::Impl final : public BeastParser {
 public:
  explicit Impl(size_t header_bytes) : header_left(header_bytes) {
    header_limit(uint32_t(std::min<size_t>(header_bytes, UINT32_MAX)));
    body_limit(UINT64_MAX);  // append() counts; Beast would count what the client announces (and takes boost::none for 0)
    eager(false);
  }

  size_t header_left;
  size_t body_left = 0;
  State state = State::header;
  std::string method, target, body, problem;
  Headers headers;
  int status = 0, version = 11;
  bool trailers = false;

  void refuse(int code, std::string message) {
    if (state == State::bad) return;
    state = State::bad;
    status = code;
    problem = std::move(message);
  }

 private:
  // Beast limits what it has not consumed yet, which a header that arrives in small pieces never exceeds.
  void count_header(size_t bytes, ErrorCode& error) {
    if (bytes > header_left) {
      error = beast::http::error::header_limit;
    } else {
      header_left -= bytes;
    }
  }

  void on_request_impl(beast::http::verb, beast::string_view name, beast::string_view text, int number, ErrorCode& error) override {
    version = number;
    count_header(name.size() + text.size() + 12, error);  // two blanks, "HTTP/1.1", CR LF
    method.assign(name.data(), name.size());
    target.assign(text.data(), text.size());
  }

  void on_response_impl(int, beast::string_view, int, ErrorCode&) override {}

  void on_field_impl(beast::http::field field, beast::string_view name, beast::string_view value, ErrorCode& error) override {
    count_header(name.size() + value.size() + 4, error);
    if (error || trailers) return;  // trailers are read, but say nothing about the request
    // Beast takes a body with another encoding for the next request.
    if (field == beast::http::field::transfer_encoding && !beast::iequals(value, "chunked")) {
      refuse(501, "Transfer-Encoding is not supported, expected chunked");
      error = beast::http::error::bad_transfer_encoding;
      return;
    }
    headers.add(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
  }

  void on_header_impl(ErrorCode&) override { trailers = true; }

  void on_body_init_impl(boost::optional<std::uint64_t> const& length, ErrorCode&) override {
    body.reserve(size_t(std::min<std::uint64_t>(length.value_or(0), 1 << 20)));  // not the length that a client merely announces
  }

  size_t append(beast::string_view bytes, ErrorCode& error) {
    if (bytes.size() > body_left) {
      error = beast::http::error::body_limit;
      return 0;
    }
    body_left -= bytes.size();
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  size_t on_body_impl(beast::string_view bytes, ErrorCode& error) override { return append(bytes, error); }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, ErrorCode&) override {}
  size_t on_chunk_body_impl(std::uint64_t, beast::string_view bytes, ErrorCode& error) override { return append(bytes, error); }
  void on_finish_impl(ErrorCode&) override {}
};

RequestParser::RequestParser(size_t header_bytes) : impl_(std::make_unique<Impl>(header_bytes)) {}
RequestParser::~RequestParser() = default;

size_t RequestParser::feed(std::string_view bytes) {
  Impl& p = *impl_;
  size_t consumed = 0;
  if (p.state == State::header && !p.got_some()) {  // older clients send an empty line after a body
    while (bytes.substr(consumed, 2) == "\r\n") consumed += 2;
    if (bytes.substr(consumed) == "\r") return consumed;
  }
  if (p.state == State::bad || p.state == State::complete || consumed == bytes.size()) return consumed;
  ErrorCode error;
  const size_t parsed = p.put(boost::asio::const_buffer(bytes.data() + consumed, bytes.size() - consumed), error);
  consumed += parsed;
  if (error == beast::http::error::header_limit) {
    p.refuse(431, "the request's header is too large");
  } else if (error == beast::http::error::body_limit) {
    p.refuse(413, "the request's body is too large");
  } else if (error == beast::http::error::bad_version) {
    p.refuse(505, "the request line does not end with 'HTTP/1.x' and CR LF");
  } else if (error && error != beast::http::error::need_more) {
    p.refuse(400, "the request is not valid HTTP: " + error.message());
  } else if (p.is_done()) {
    p.state = State::complete;
  } else if (p.state == State::header && p.is_header_done()) {
    p.state = State::body;
    p.eager(true);
  }
  return consumed;
}

RequestParser::State RequestParser::state() const { return impl_->state; }
const std::string& RequestParser::method() const { return impl_->method; }
const std::string& RequestParser::target() const { return impl_->target; }
bool RequestParser::is_http11() const { return impl_->version == 11; }
bool RequestParser::keep_alive() const { return impl_->keep_alive(); }
Headers& RequestParser::headers() { return impl_->headers; }
std::optional<uint64_t> RequestParser::content_length() const {
  const auto length = impl_->content_length();
  return length ? std::optional<uint64_t>(*length) : std::nullopt;
}
void RequestParser::limit_body(size_t bytes) { impl_->body_left = bytes; }
std::string& RequestParser::body() { return impl_->body; }
int RequestParser::status() const { return impl_->status; }
const std::string& RequestParser::problem() const { return impl_->problem; }

}  // namespace hearth::http
