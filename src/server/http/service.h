// What all connections share, and what is decided about a request before its handler runs. Nothing here knows sockets.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "server/http/access.h"
#include "server/http/exchange.h"
#include "server/http/handler_pool.h"
#include "server/http/options.h"
#include "server/http/parser.h"
#include "server/http/routes.h"

namespace hearth::http {

struct Service {
  Service(ServerOptions o, Routes r) : options(std::move(o)), routes(std::move(r)), keys(options.api_keys), origins(options.cors_origins) {}

  const ServerOptions options;
  const Routes routes;
  const KeyRing keys;
  const Origins origins;
  bool own_hosts_only = false;  // without keys, on a loopback address: no web page of another site may use the server
  const std::shared_ptr<std::atomic<bool>> draining = std::make_shared<std::atomic<bool>>(false);

  std::atomic<uint64_t> body_bytes{0}, refused{0};
  std::atomic<int> requests{0}, connections{0};
  std::mutex mutex;                 // with `connections`, for those who wait until there are none
  std::condition_variable changed;  // when a connection has ended

  std::unique_ptr<HandlerPool> handlers;  // last: its destructor waits for handlers
};

// What happens to a request whose header has arrived.
struct Admission {
  Request request;  // without its body
  ResponseFrame frame;
  const Route* route = nullptr;  // null: the response is the following
  int status = 0;                // an error, or 204 for OPTIONS
  std::string message;
  HeaderList headers;
  size_t body_limit = 0;
  bool expects_continue = false;
};

// Takes the headers out of the parser. `busy`: only routes that answer at once are available, as the server drains or is full.
Admission admit(const Service& service, RequestParser& parser, const std::string& client, bool is_https, bool busy);

}  // namespace hearth::http
