#include "server/http/exchange.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace hearth::http {
namespace {

bool has_body(int status) { return status >= 200 && status != 204 && status != 304; }

void check_text(std::string_view name, std::string_view text) {
  const auto forbidden = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), forbidden)) fail<Error>("response header {}: has a control character", name);
}

}  // namespace

std::string_view reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    case 529: return "Overloaded";
    default: return "";
  }
}

Exchange::Exchange(ResponseFrame frame, size_t queue_limit, std::shared_ptr<const std::atomic<bool>> closing, std::function<void()> wake)
    : frame_(std::move(frame)), queue_limit_(queue_limit), closing_(std::move(closing)), wake_(std::move(wake)) {}

std::string Exchange::head(int status, std::string_view content_type, const HeaderList& headers, std::string_view framing) {
  if (status < 200 || status > 599) fail<Error>("response: status {}, expected 200 to 599", status);
  check_text("Content-Type", content_type);
  for (const auto& [name, value] : headers) {
    check_text(name, name);
    check_text(name, value);
  }
  if (*closing_) frame_.keep_alive = false;
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_of(status));
  const auto add = [&](std::string_view name, std::string_view value) { text.append(name).append(": ").append(value).append("\r\n"); };
  if (!content_type.empty()) add("Content-Type", content_type);
  text += framing;
  for (const auto& [name, value] : headers) add(name, value);
  for (const auto& [name, value] : frame_.headers) add(name, value);
  if (!frame_.keep_alive) {
    add("Connection", "close");
  } else if (!frame_.is_http11) {
    add("Connection", "keep-alive");
  }
  status_ = status;
  return text + "\r\n";
}

// Small pieces are joined: each one is a packet, or a TLS record.
void Exchange::push(std::string piece) {
  constexpr size_t small = 16 << 10;
  if (piece.empty()) return;
  queued_ += piece.size();
  if (!pieces_.empty() && pieces_.back().size() + piece.size() <= small) {
    pieces_.back() += piece;
  } else {
    pieces_.push_back(std::move(piece));
  }
}

void Exchange::wake() {
  if (awake_ || !wake_) return;
  awake_ = true;
  wake_();
}

// The callback of on_disconnect may own anything, this exchange's responder too: it is destroyed only after the mutex is released.
Sent Exchange::respond(int status, std::string_view content_type, std::string body, const HeaderList& headers) {
  std::function<void()> dropped;
  const std::scoped_lock lock(mutex_);
  if (gone_) return Sent::gone;
  if (state_ != State::waiting) fail<Error>("respond: the response has begun already");
  push(head(status, content_type, headers, has_body(status) ? fmt::format("Content-Length: {}\r\n", body.size()) : ""));
  if (!frame_.head_only && has_body(status)) push(std::move(body));
  state_ = State::ended;
  dropped.swap(on_disconnect_);
  wake();
  return Sent::queued;
}

Sent Exchange::begin_stream(int status, std::string_view content_type, const HeaderList& headers) {
  const std::scoped_lock lock(mutex_);
  if (gone_) return Sent::gone;
  if (state_ != State::waiting) fail<Error>("begin_stream: the response has begun already");
  if (!has_body(status)) fail<Error>("begin_stream: a response with status {} has no body", status);
  chunked_ = frame_.is_http11;
  if (!chunked_) frame_.keep_alive = false;  // the end of the connection is the end of the body
  push(head(status, content_type, headers, chunked_ ? "Transfer-Encoding: chunked\r\n" : ""));
  state_ = State::streaming;
  wake();
  return Sent::queued;
}

Sent Exchange::write(std::string chunk) {
  const std::scoped_lock lock(mutex_);
  if (gone_ || broken_) return Sent::gone;
  if (state_ != State::streaming) fail<Error>("write: the response is not a stream that has begun and not ended");
  if (chunk.empty() || frame_.head_only) return Sent::queued;
  if (queued_ >= queue_limit_) {
    broken_ = too_slow_ = true;
    queued_ = 0;
    pieces_.clear();
    wake();
    return Sent::too_slow;
  }
  if (chunked_) {
    push(fmt::format("{:x}\r\n", chunk.size()));
    chunk += "\r\n";
  }
  push(std::move(chunk));
  wake();
  return Sent::queued;
}

Sent Exchange::end() {
  std::function<void()> dropped;
  const std::scoped_lock lock(mutex_);
  if (gone_ || broken_) return Sent::gone;
  if (state_ != State::streaming) fail<Error>("end: the response is not a stream that has begun and not ended");
  if (chunked_ && !frame_.head_only) push("0\r\n\r\n");
  state_ = State::ended;
  dropped.swap(on_disconnect_);
  wake();
  return Sent::queued;
}

void Exchange::abort() {
  std::function<void()> dropped;
  const std::scoped_lock lock(mutex_);
  if (gone_ || state_ == State::ended) return;
  state_ = State::ended;
  dropped.swap(on_disconnect_);
  broken_ = true;
  queued_ = 0;
  pieces_.clear();
  wake();
}

bool Exchange::gone() const {
  const std::scoped_lock lock(mutex_);
  return gone_ || broken_;
}

size_t Exchange::queued_bytes() const {
  const std::scoped_lock lock(mutex_);
  return queued_;
}

void Exchange::on_disconnect(std::function<void()> callback) {
  {
    const std::scoped_lock lock(mutex_);
    if (state_ == State::ended) return;
    if (!gone_) {
      callback.swap(on_disconnect_);
      return;
    }
    state_ = State::ended;  // it is called once
  }
  if (callback) callback();
}

void Exchange::abandon() {
  bool begun = false;
  {
    const std::scoped_lock lock(mutex_);
    if (gone_ || state_ == State::ended) return;
    begun = state_ == State::streaming;
  }
  if (begun) return abort();
  respond_error(500, "the server failed to answer this request");
}

Sent Exchange::respond_error(int status, const std::string& message, const HeaderList& headers) {
  const ErrorPage page = frame_.error_page({status, frame_.path, message});
  return respond(status, page.content_type, page.body, headers);
}

Exchange::Output Exchange::take() {
  const std::scoped_lock lock(mutex_);
  awake_ = false;
  Output output{std::move(pieces_), state_ == State::ended, broken_, too_slow_};
  pieces_.clear();
  return output;
}

void Exchange::sent(size_t bytes) {
  const std::scoped_lock lock(mutex_);
  queued_ -= std::min(queued_, bytes);
}

std::function<void()> Exchange::lose_client() {
  std::vector<std::string> dropped;
  const std::scoped_lock lock(mutex_);
  gone_ = true;
  wake_ = nullptr;
  queued_ = 0;
  dropped.swap(pieces_);
  std::function<void()> callback = std::move(on_disconnect_);
  on_disconnect_ = nullptr;
  if (callback) state_ = State::ended;  // it is called once
  return callback;
}

void Exchange::fail_with(std::string note) {
  {
    const std::scoped_lock lock(mutex_);
    note_ = std::move(note);
  }
  abandon();
}

std::string Exchange::note() const {
  const std::scoped_lock lock(mutex_);
  return note_;
}

int Exchange::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

bool Exchange::keep_alive() const {
  const std::scoped_lock lock(mutex_);
  return frame_.keep_alive;
}

void Exchange::forbid_keep_alive() {
  const std::scoped_lock lock(mutex_);
  frame_.keep_alive = false;
}

// Destroyed with the last copy of the responder.
struct Responder::Owner {
  explicit Owner(std::shared_ptr<Exchange> e) : exchange(std::move(e)) {}
  ~Owner() {
    try {
      exchange->abandon();
    } catch (...) { exchange->abort(); }
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  std::shared_ptr<Exchange> exchange;
};

Responder::Responder(std::shared_ptr<Exchange> exchange) : owner_(std::make_shared<Owner>(std::move(exchange))) {}

Sent Responder::respond(int status, std::string_view content_type, std::string body, const HeaderList& headers) const {
  const auto owner = owner_;  // this responder may be destroyed with the callback of on_disconnect
  return owner->exchange->respond(status, content_type, std::move(body), headers);
}
Sent Responder::begin_stream(int status, std::string_view content_type, const HeaderList& headers) const {
  return owner_->exchange->begin_stream(status, content_type, headers);
}
Sent Responder::write(std::string chunk) const { return owner_->exchange->write(std::move(chunk)); }
Sent Responder::end() const {
  const auto owner = owner_;
  return owner->exchange->end();
}
void Responder::abort() const {
  const auto owner = owner_;
  owner->exchange->abort();
}
bool Responder::gone() const { return owner_->exchange->gone(); }
size_t Responder::queued_bytes() const { return owner_->exchange->queued_bytes(); }
void Responder::on_disconnect(std::function<void()> callback) const { owner_->exchange->on_disconnect(std::move(callback)); }

}  // namespace hearth::http
