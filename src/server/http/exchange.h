// One request and its response, between the connection's thread and the threads that answer. The library's side of Responder.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/error_page.h"
#include "server/http/request.h"
#include "server/http/responder.h"

namespace hearth::http {

// What the connection knows about the response before the handler does.
struct ResponseFrame {
  bool is_http11 = true;
  bool keep_alive = true;
  bool head_only = false;  // a HEAD request: the body is counted, but not sent
  HeaderList headers;      // added to every response: X-Request-Id, CORS
  std::string path;        // for error_page
  ErrorFormatter error_page = plain_error_page;
};

class Exchange {
 public:
  // `wake` asks the connection, from any thread, to take() what is there; it is called under the exchange's mutex, and not after the
  // client has gone. `closing` is true once the server drains: responses that begin later close their connections.
  Exchange(ResponseFrame frame, size_t queue_limit, std::shared_ptr<const std::atomic<bool>> closing, std::function<void()> wake);

  // For Responder, which describes them.
  Sent respond(int status, std::string_view content_type, std::string body, const HeaderList& headers);
  Sent begin_stream(int status, std::string_view content_type, const HeaderList& headers);
  Sent write(std::string chunk);
  Sent end();
  void abort();
  bool gone() const;
  size_t queued_bytes() const;
  void on_disconnect(std::function<void()> callback);
  void abandon();                    // no copy of the responder is left
  void fail_with(std::string note);  // the handler has thrown: a 500, or an incomplete stream, and the note for the log
  // respond() with the page that the server's ErrorFormatter makes.
  Sent respond_error(int status, const std::string& message, const HeaderList& headers = {});

  // For the connection.
  struct Output {
    std::vector<std::string> pieces;
    bool ended = false;     // nothing follows
    bool broken = false;    // the connection must be dropped: abort(), or
    bool too_slow = false;  // a client that reads too slowly
  };
  Output take();
  void sent(size_t bytes);  // of the pieces taken
  // The client has gone. Returns the callback of on_disconnect if it is due; the connection calls it.
  std::function<void()> lose_client();
  int status() const;       // 0: the response has not begun
  bool keep_alive() const;  // whether the connection serves another request after this response
  std::string note() const;
  void forbid_keep_alive();  // before the response begins

 private:
  enum class State { waiting, streaming, ended };
  std::string head(int status, std::string_view content_type, const HeaderList& headers, std::string_view framing);
  void push(std::string piece);
  void wake();

  mutable std::mutex mutex_;  // everything below
  ResponseFrame frame_;
  size_t queue_limit_;
  std::shared_ptr<const std::atomic<bool>> closing_;
  std::function<void()> wake_;
  State state_ = State::waiting;
  bool gone_ = false, broken_ = false, too_slow_ = false, awake_ = false, chunked_ = false;
  int status_ = 0;
  std::string note_;
  size_t queued_ = 0;
  std::vector<std::string> pieces_;
  std::function<void()> on_disconnect_;
};

// "Not Found"; empty for a status without a usual phrase.
std::string_view reason_of(int status);

}  // namespace hearth::http
