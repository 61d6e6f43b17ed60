// One client: reads requests, hands them to handlers, sends their responses. Internal; the only header with Boost.Asio.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "server/http/service.h"

namespace hearth::http {

namespace asio = boost::asio;
using Socket = asio::generic::stream_protocol::socket;  // TCP and Unix sockets
using ErrorCode = boost::system::error_code;
using Clock = std::chrono::steady_clock;

class Connection;

// A thread with its connections. All members of a connection are used on its thread only.
struct IoThread {
  asio::io_context context{1};
  std::unordered_set<std::shared_ptr<Connection>> connections;
  std::list<Connection*> waiting;  // for a complete request header, the longest first
  bool close_longest_waiting();    // false if none waits
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Service& service, IoThread& thread, asio::ssl::context* tls, Socket socket);
  ~Connection();

  void start(bool surplus);  // surplus: served only what answers at once
  void drain();              // ends if no complete request is there
  void drop();               // ends in any case

 private:
  enum class Phase { handshake, idle, header, body, working, closing, closed };

  void enter(Phase phase, Milliseconds time);  // 0: no time limit
  void read();
  void on_read(const ErrorCode& error, size_t bytes);
  void process();
  void on_header();
  bool count_body();  // false: the server holds too many bytes
  void dispatch();
  void refuse(int status, const std::string& message, HeaderList headers = {});
  void flush();
  void write();
  void on_write(const ErrorCode& error, size_t bytes);
  void finish_response();
  void lose_client(bool too_slow = false);
  void log(bool complete);
  void close_gracefully(bool unread);
  void close();
  void arm();
  void on_time();
  bool hung_up() const;
  std::shared_ptr<Exchange> make_exchange(ResponseFrame frame, const Route* route = nullptr);
  std::string_view unparsed() const { return std::string_view(in_).substr(in_begin_, in_end_ - in_begin_); }

  Service& service_;
  IoThread& thread_;
  Socket socket_;
  std::optional<asio::ssl::stream<Socket&>> tls_;
  asio::steady_timer timer_;
  const std::string client_;
  bool surplus_ = false;

  Phase phase_ = Phase::closed;
  std::optional<std::list<Connection*>::iterator> waiting_;
  std::optional<Clock::time_point> deadline_;  // of the phase
  std::optional<Clock::time_point> timer_at_;  // what the timer waits for

  std::string in_;  // bytes read; [in_begin_, in_end_) are not parsed yet
  size_t in_begin_ = 0, in_end_ = 0;
  bool reading_ = false, end_of_input_ = false, poll_hang_up_ = false;
  uint64_t discarded_ = 0;

  std::unique_ptr<RequestParser> parser_;
  std::shared_ptr<Exchange> exchange_;  // from the end of the request's header to the end of its response
  Request request_;
  const Route* route_ = nullptr;
  std::string log_method_, log_path_, log_id_;
  Clock::time_point request_began_, body_began_;
  uint64_t counted_body_ = 0;
  bool counted_request_ = false;

  std::deque<std::string> out_;  // of the response, and 100 Continue
  size_t out_offset_ = 0;        // of the first piece, already sent
  bool writing_ = false, ended_ = false;
  uint64_t sent_ = 0;
  Clock::time_point behind_since_;  // when out_ was last empty
  uint64_t behind_bytes_ = 0;       // sent since then
};

}  // namespace hearth::http
