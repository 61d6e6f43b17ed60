// How a handler answers: at once, or later and from any thread, whole or as a stream.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/request.h"

namespace hearth::http {

class Exchange;

// What became of bytes for the client.
enum class Sent {
  queued,    // they are sent as fast as the client reads
  gone,      // nobody receives them: the client has closed its side of the connection, or the server has dropped it
  too_slow,  // the client reads too slowly: the connection has now been dropped; reported once, `gone` afterwards
};

// The response to one request. Copies refer to the same response; every function is thread-safe and none ever waits for the client.
// A response is either respond(), or begin_stream(), any number of write() and end(). Another order is an Error, except that everything is
// `gone` for a client that has gone. If the last copy is destroyed before the response is complete, the client gets a 500, or a stream that
// visibly breaks off.
class Responder {
 public:
  explicit Responder(std::shared_ptr<Exchange> exchange);

  // The whole response. Content-Length, X-Request-Id, Connection and the CORS headers are added. Error if a header has characters that it
  // must not have. An empty content_type sends none. The body may have any size: the queue's limit is for streams.
  Sent respond(int status, std::string_view content_type, std::string body, const HeaderList& headers = {}) const;

  // A stream: chunked for HTTP/1.1, up to the end of the connection for HTTP/1.0. Each write() is sent at once.
  Sent begin_stream(int status, std::string_view content_type, const HeaderList& headers = {}) const;
  // Accepted while fewer than ServerLimits::stream_queue_bytes wait for the client, so the queue never holds more than that and one chunk.
  // Once that many wait, the client is too slow: its connection is dropped.
  Sent write(std::string chunk) const;
  Sent end() const;
  // Drops the connection, so that the client sees that the response is incomplete. The callback of on_disconnect is not called.
  void abort() const;

  bool gone() const;            // whether the client has gone
  size_t queued_bytes() const;  // of this response, not yet taken by the network

  // Calls `callback` once when the client goes before respond() or end(), also while nothing is written; never after them. The callback
  // runs on a thread of the server and must return quickly, or at once on the calling thread if the client has already gone. It is dropped
  // with the response. A second call replaces the callback.
  void on_disconnect(std::function<void()> callback) const;

 private:
  struct Owner;
  std::shared_ptr<Owner> owner_;
};

}  // namespace hearth::http
