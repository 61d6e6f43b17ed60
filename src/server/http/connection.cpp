#include "server/http/connection.h"

#include <poll.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

#include "server/http/listener.h"

namespace hearth::http {
namespace {

constexpr size_t small_read = 4 << 10, large_read = 64 << 10;
constexpr size_t pipelined_bytes = 16 << 10;     // of later requests, read while one is answered
constexpr uint64_t discarded_bytes = 256 << 20;  // of a refused body, read so that the client sees the refusal
constexpr Milliseconds linger{2000}, short_linger{100}, hang_up_interval{250};

Milliseconds time_of(uint64_t bytes, uint64_t bytes_per_second) {
  return Milliseconds(bytes * 1000 / std::max<uint64_t>(bytes_per_second, 1));
}

}  // namespace

bool IoThread::close_longest_waiting() {
  if (waiting.empty()) return false;
  waiting.front()->drop();
  return true;
}

Connection::Connection(Service& service, IoThread& thread, asio::ssl::context* tls, Socket socket)
    : service_(service), thread_(thread), socket_(std::move(socket)), timer_(thread.context), client_(peer_of(socket_.native_handle())) {
  if (tls) tls_.emplace(socket_, *tls);
  ++service_.connections;
}

Connection::~Connection() {
  const std::scoped_lock lock(service_.mutex);
  --service_.connections;
  service_.changed.notify_all();
}

void Connection::start(bool surplus) {
  if (*service_.draining) return;
  surplus_ = surplus;
  thread_.connections.insert(shared_from_this());
  parser_ = std::make_unique<RequestParser>(service_.options.limits.header_bytes);
  if (!tls_) {
    enter(Phase::idle, service_.options.limits.idle_time);
    return read();
  }
  enter(Phase::handshake, service_.options.limits.header_time);
  tls_->async_handshake(asio::ssl::stream_base::server, [self = shared_from_this()](const ErrorCode& error) {
    if (self->phase_ == Phase::closed) return;
    if (error) return self->close();
    self->enter(Phase::idle, self->service_.options.limits.idle_time);
    self->read();
  });
}

void Connection::enter(Phase phase, Milliseconds time) {
  const bool waits = phase == Phase::handshake || phase == Phase::idle || phase == Phase::header;
  if (waits && !waiting_) {
    waiting_ = thread_.waiting.insert(thread_.waiting.end(), this);
  } else if (!waits && waiting_) {
    thread_.waiting.erase(*waiting_);
    waiting_.reset();
  }
  phase_ = phase;
  deadline_.reset();
  if (time.count() > 0) deadline_ = Clock::now() + time;
  arm();
}

// --- reading ---

// There is always a read under way, so that the end of a connection is noticed at any time; while a request is answered, what arrives
// belongs to the next one.
void Connection::read() {
  if (reading_ || phase_ == Phase::closed || end_of_input_) return;
  if (in_begin_ == in_end_) {
    in_begin_ = in_end_ = 0;
    if (phase_ == Phase::idle && in_.size() > pipelined_bytes) in_ = {};
  } else if (in_begin_ > 0) {
    in_.erase(0, in_begin_);
    in_end_ -= in_begin_;
    in_begin_ = 0;
  }
  if (phase_ == Phase::working && in_end_ >= pipelined_bytes) {
    poll_hang_up_ = true;
    return arm();
  }
  poll_hang_up_ = false;
  const size_t wanted = phase_ == Phase::body || phase_ == Phase::closing ? large_read : small_read;
  if (in_.size() < in_end_ + wanted) in_.resize(in_end_ + wanted);
  reading_ = true;
  const auto buffer = asio::buffer(in_.data() + in_end_, in_.size() - in_end_);
  auto done = [self = shared_from_this()](const ErrorCode& error, size_t bytes) { self->on_read(error, bytes); };
  if (tls_) {
    tls_->async_read_some(buffer, std::move(done));
  } else {
    socket_.async_read_some(buffer, std::move(done));
  }
}

void Connection::on_read(const ErrorCode& error, size_t bytes) {
  reading_ = false;
  if (phase_ == Phase::closed) return;
  in_end_ += bytes;
  if (error) {
    end_of_input_ = true;
    if (phase_ != Phase::working) return close();
    // A complete response is still sent to a client that closed only its sending side.
    if (!ended_) flush();
    if (phase_ == Phase::working && !ended_) lose_client();
    return;
  }
  switch (phase_) {
    case Phase::idle:
    case Phase::header:
    case Phase::body: return process();
    case Phase::closing:
      discarded_ += bytes;
      in_begin_ = in_end_ = 0;
      if (discarded_ > discarded_bytes) return close();
      return read();
    default: return read();
  }
}

void Connection::process() {
  const ServerLimits& limits = service_.options.limits;
  while (phase_ == Phase::idle || phase_ == Phase::header || phase_ == Phase::body) {
    if (in_begin_ == in_end_) return read();
    if (phase_ == Phase::idle) {
      request_began_ = Clock::now();
      enter(Phase::header, limits.header_time);
    }
    const size_t parsed = parser_->feed(unparsed());
    in_begin_ += parsed;
    const RequestParser::State state = parser_->state();
    if (state == RequestParser::State::bad) return refuse(parser_->status(), parser_->problem());
    if (state == RequestParser::State::header) return read();
    if (phase_ == Phase::header) {
      on_header();
      if (phase_ != Phase::header) return;  // refused
      body_began_ = Clock::now();
      enter(Phase::body, limits.body_time);
    }
    if (!count_body()) return refuse(503, "the server holds too many requests, try again later");
    if (state == RequestParser::State::complete) return dispatch();
    deadline_ = body_began_ + limits.body_time + time_of(counted_body_, limits.slowest);
    if (parsed > 0) continue;
    if (in_end_ - in_begin_ > limits.header_bytes) return refuse(400, "the request is not valid HTTP: a chunk's header is too long");
    return read();
  }
}

std::shared_ptr<Exchange> Connection::make_exchange(ResponseFrame frame, const Route* route) {
  const size_t standard = service_.options.limits.stream_queue_bytes;
  const size_t queue_limit = route ? route->options.stream_queue_bytes.value_or(standard) : standard;
  auto wake = [weak = weak_from_this(), &context = thread_.context] {
    asio::post(context, [weak] {
      if (const auto self = weak.lock()) self->flush();
    });
  };
  return std::make_shared<Exchange>(std::move(frame), queue_limit, service_.draining, std::move(wake));
}

void Connection::on_header() {
  request_began_ = Clock::now();
  Admission admission = admit(service_, *parser_, client_, tls_.has_value(), surplus_ || *service_.draining);
  log_method_ = admission.request.method;
  log_path_ = admission.request.path;
  log_id_ = admission.request.id;
  exchange_ = make_exchange(std::move(admission.frame), admission.route);
  if (surplus_) exchange_->forbid_keep_alive();
  if (!admission.route) {
    if (admission.status >= 400) return refuse(admission.status, admission.message, std::move(admission.headers));
    if (parser_->state() != RequestParser::State::complete) exchange_->forbid_keep_alive();
    enter(Phase::working, {});
    exchange_->respond(admission.status, "", "", admission.headers);
    return read();
  }
  request_ = std::move(admission.request);
  route_ = admission.route;
  parser_->limit_body(admission.body_limit);
  if (admission.expects_continue && parser_->state() == RequestParser::State::body && in_begin_ == in_end_) {
    out_.emplace_back("HTTP/1.1 100 Continue\r\n\r\n");
    write();
  }
}

bool Connection::count_body() {
  const uint64_t size = parser_->body().size();
  service_.body_bytes += size - counted_body_;
  counted_body_ = size;
  return service_.body_bytes <= service_.options.limits.total_body_bytes;
}

// An error of the server itself. Unless the request is valid and has been read completely, the next one may begin elsewhere than it seems.
void Connection::refuse(int status, const std::string& message, HeaderList headers) {
  if (!exchange_) {
    ResponseFrame frame;
    frame.error_page = service_.options.error_page;
    frame.headers.emplace_back("X-Request-Id", log_id_ = request_id(""));
    exchange_ = make_exchange(std::move(frame));
  }
  const bool has_retry_after = !headers.empty() && headers.back().first == "Retry-After";
  if (status == 503 && !has_retry_after) headers.emplace_back("Retry-After", std::to_string(service_.options.limits.retry_after));
  if (status == 503) ++service_.refused;
  if (status == 400 || parser_->state() != RequestParser::State::complete) exchange_->forbid_keep_alive();
  enter(Phase::working, {});
  try {
    exchange_->respond_error(status, message, headers);
  } catch (const std::exception& e) { exchange_->fail_with(e.what()); }
  read();
}

// --- handlers ---

void Connection::dispatch() {
  request_.body = std::move(parser_->body());
  counted_request_ = true;
  ++service_.requests;
  enter(Phase::working, {});
  const auto run = [](const Route& route, const std::shared_ptr<Exchange>& exchange, Request request) {
    if (exchange->gone()) return;         // while the request waited for a thread
    const Responder responder(exchange);  // a handler that keeps no copy has answered, or never will
    try {
      route.handler(std::move(request), responder);
    } catch (const std::exception& e) { exchange->fail_with(e.what()); } catch (...) {
      exchange->fail_with("unknown exception");
    }
  };
  if (route_->options.at_once) {
    run(*route_, exchange_, std::move(request_));
  } else {
    auto request = std::make_shared<Request>(std::move(request_));
    const bool queued =
        service_.handlers->submit([run, route = route_, exchange = exchange_, request] { run(*route, exchange, std::move(*request)); });
    if (!queued) return refuse(503, "the server has too many requests, try again later");
  }
  read();
}

// --- writing ---

void Connection::flush() {
  if (!exchange_ || phase_ != Phase::working) return;
  Exchange::Output output = exchange_->take();
  if (output.broken) return lose_client(output.too_slow);
  for (std::string& piece : output.pieces) out_.push_back(std::move(piece));
  ended_ = output.ended;
  write();
}

void Connection::write() {
  if (writing_) return;
  if (out_.empty()) {
    if (ended_) finish_response();
    return;
  }
  if (behind_bytes_ == 0) behind_since_ = Clock::now();
  std::array<asio::const_buffer, 16> buffers;
  size_t count = 0, skip = out_offset_;
  for (auto piece = out_.begin(); piece != out_.end() && count < buffers.size(); ++piece, skip = 0)
    buffers[count++] = asio::buffer(piece->data() + skip, piece->size() - skip);
  for (size_t i = count; i < buffers.size(); ++i) buffers[i] = asio::const_buffer();
  writing_ = true;
  auto done = [self = shared_from_this()](const ErrorCode& error, size_t bytes) { self->on_write(error, bytes); };
  if (tls_) {
    tls_->async_write_some(buffers[0], std::move(done));
  } else {
    socket_.async_write_some(buffers, std::move(done));
  }
  arm();
}

void Connection::on_write(const ErrorCode& error, size_t bytes) {
  writing_ = false;
  if (phase_ == Phase::closed) return;
  if (error) return lose_client();
  sent_ += bytes;
  behind_bytes_ += bytes;
  if (exchange_) exchange_->sent(bytes);
  out_offset_ += bytes;
  while (!out_.empty() && out_offset_ >= out_.front().size()) {
    out_offset_ -= out_.front().size();
    out_.pop_front();
  }
  if (out_.empty()) behind_bytes_ = 0;
  write();
}

void Connection::finish_response() {
  log(true);
  const bool complete = parser_->state() == RequestParser::State::complete;
  const bool keep_alive = complete && exchange_->keep_alive() && !end_of_input_ && !*service_.draining;
  exchange_->lose_client();  // from here on, whoever still has the responder reaches nobody
  exchange_.reset();
  request_ = {};
  route_ = nullptr;
  service_.body_bytes -= counted_body_;
  counted_body_ = 0;
  if (counted_request_) --service_.requests;
  counted_request_ = false;
  ended_ = false;
  sent_ = 0;
  if (!keep_alive) return close_gracefully(!complete || in_begin_ != in_end_);
  log_method_.clear();
  log_path_.clear();
  parser_ = std::make_unique<RequestParser>(service_.options.limits.header_bytes);
  enter(Phase::idle, service_.options.limits.idle_time);
  process();
}

void Connection::lose_client(bool too_slow) {
  std::function<void()> callback;
  ErrorCode ignored;
  if (too_slow) socket_.set_option(Socket::linger(true, 0), ignored);  // the kernel forgets what it holds for the client
  if (exchange_) {
    log(false);
    callback = exchange_->lose_client();
  }
  const auto self = shared_from_this();
  close();
  try {
    if (callback) callback();
  } catch (...) {}  // NOLINT(bugprone-empty-catch): there is nobody left to tell
}

void Connection::log(bool complete) {
  if (!service_.options.log) return;
  const int status = exchange_->status();
  const std::chrono::duration<double, std::milli> time = Clock::now() - request_began_;
  try {
    service_.options.log(
        {client_, log_method_, log_path_, log_id_, status ? status : 499, sent_, time.count(), complete, exchange_->note()});
  } catch (...) {}  // NOLINT(bugprone-empty-catch): a log that fails must not end the connection
}

// --- the end ---

// A socket that is closed with bytes unread makes the client lose the response, so these are read first.
void Connection::close_gracefully(bool unread) {
  if (phase_ == Phase::closing || phase_ == Phase::closed) return;
  ErrorCode ignored;
  if (!tls_) {
    socket_.shutdown(Socket::shutdown_send, ignored);
    if (!unread || end_of_input_) return close();
  }
  enter(Phase::closing, *service_.draining && !unread ? short_linger : linger);
  in_begin_ = in_end_ = 0;
  if (unread) return read();
  tls_->async_shutdown([self = shared_from_this()](const ErrorCode&) { self->close(); });
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  enter(Phase::closed, {});
  if (exchange_) exchange_->lose_client();
  exchange_.reset();
  service_.body_bytes -= counted_body_;
  counted_body_ = 0;
  if (counted_request_) --service_.requests;
  counted_request_ = false;
  ErrorCode ignored;
  socket_.close(ignored);
  timer_.cancel();
  out_.clear();
  thread_.connections.erase(self);
}

void Connection::drop() {
  if (phase_ == Phase::working) {
    lose_client();
  } else {
    close();
  }
}

void Connection::drain() {
  switch (phase_) {
    case Phase::handshake: return close();
    case Phase::idle:
    case Phase::header: return close_gracefully(false);
    case Phase::body: return refuse(503, "the server is shutting down");
    default: return;
  }
}

// --- time ---

// The timer waits for the earliest of: the end of the phase, a client that takes nothing, the next look for a hang-up. If that moves to
// later, the timer is left as it is, and finds nothing to do.
void Connection::arm() {
  if (phase_ == Phase::closed) return;
  std::optional<Clock::time_point> next = deadline_;
  const auto consider = [&](Clock::time_point time) {
    if (!next || time < *next) next = time;
  };
  const ServerLimits& limits = service_.options.limits;
  if (!out_.empty()) consider(behind_since_ + limits.write_time + time_of(behind_bytes_, limits.slowest));
  if (poll_hang_up_) consider(Clock::now() + hang_up_interval);
  if (!next || (timer_at_ && *timer_at_ <= *next)) return;
  timer_at_ = next;
  timer_.expires_at(*next);
  timer_.async_wait([weak = weak_from_this()](const ErrorCode& error) {
    const auto self = weak.lock();
    if (error || !self || self->phase_ == Phase::closed) return;
    self->timer_at_.reset();
    self->on_time();
  });
}

void Connection::on_time() {
  const ServerLimits& limits = service_.options.limits;
  const auto now = Clock::now();
  if (!out_.empty() && now >= behind_since_ + limits.write_time + time_of(behind_bytes_, limits.slowest)) return lose_client(true);
  if (poll_hang_up_ && hung_up()) return lose_client();
  if (!deadline_ || now < *deadline_) return arm();
  switch (phase_) {
    case Phase::header: return refuse(408, "the request's header did not arrive in time");
    case Phase::body: return refuse(408, "the request's body did not arrive in time");
    case Phase::idle: return close_gracefully(false);
    default: return close();
  }
}

// For a client that has sent more requests than are read ahead: has it closed the connection behind them?
bool Connection::hung_up() const {
  pollfd events{const_cast<Socket&>(socket_).native_handle(), POLLRDHUP, 0};
  return ::poll(&events, 1, 0) > 0 && (events.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace hearth::http
