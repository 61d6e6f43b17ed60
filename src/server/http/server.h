// An HTTP/1.1 server that holds thousands of connections on one or two threads (Boost.Asio) and knows nothing about models.
//
//   http::Routes routes;
//   routes.add("GET", "/health", [](http::Request, http::Responder to) { to.respond(200, "text/plain", "ok\n"); }, {.open = true, .at_once
//   = true}); http::HttpServer server({.port = 8080}, std::move(routes)); server.start(); … server.drain(std::chrono::seconds(30));
#pragma once

#include <memory>
#include <string>

#include "server/http/options.h"
#include "server/http/routes.h"

namespace hearth::http {

class HttpServer {
 public:
  // UsageError if options contradict each other: a certificate without its key, an address beyond loopback without API keys …
  HttpServer(ServerOptions options, Routes routes);
  // Drops every connection and waits for the handlers that run.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens; when it returns, requests are answered. IoError: the port is in use, the address is not of this computer, the certificate
  // cannot be read …; UsageError if the address is beyond loopback and there is no key. Call once.
  void start();

  // After start(): "http://127.0.0.1:8080", "https://[::1]:8080", "unix:/run/hearth.sock".
  std::string address() const;
  int port() const;  // 0 of a Unix socket

  // Closes the listening socket. Connections go on.
  void stop_accepting();

  // Stops accepting, closes idle connections, refuses requests that have not arrived completely (503), waits for responses under way, and
  // drops those that are not complete after `patience`. True if none was dropped. Routes that answer at once still do on connections that
  // a response keeps open. Not from a handler.
  bool drain(Milliseconds patience);

  struct Counts {
    int connections = 0;       // open
    int requests = 0;          // read completely and not answered completely
    int waiting_handlers = 0;  // of them, waiting for a handler's thread
    uint64_t body_bytes = 0;   // of bodies in memory
    uint64_t refused = 0;      // connections closed, and requests answered with 503, because a limit was reached
  };
  Counts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::http
