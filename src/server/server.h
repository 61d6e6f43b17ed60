// The server as a whole: models, APIs, HTTP.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "server/http/options.h"
#include "server/model_host.h"

namespace hearth::server {

struct ServeOptions {
  ModelHost::Options models;
  http::ServerOptions http;
  int64_t drain_seconds = 60;                                 // for running requests, after `stop`
  std::chrono::milliseconds ping = std::chrono::seconds(10);  // streams that say nothing for so long get a comment or a ping
  size_t response_bytes = 64 << 20;                           // of POST /v1/responses with store: true, in memory
  bool log_requests = false;
  std::function<void(const std::string& line)> log;           // notes for the operator; on a thread of its own, may wait
  std::function<void(const std::string& address)> listening;  // once, when requests are answered
};

// Loads the first model, listens, and returns after `stop` was set and running requests were answered. Errors as ModelHost and HttpServer.
void serve(ServeOptions options, const std::atomic<bool>& stop);

}  // namespace hearth::server
