#include "server/server.h"

#include <thread>

#include "hearth/hearth.h"
#include "server/api/routes.h"
#include "server/http/server.h"
#include "server/log_queue.h"

namespace hearth::server {
namespace {

http::ErrorPage error_page(const http::ErrorReport& report) {
  const ApiError error(report.status, report.message);
  const bool a1111 = report.path.starts_with("/sdapi/"), anthropic = report.path.starts_with("/v1/messages");
  return {"application/json", a1111 ? a1111_error(error) : anthropic ? anthropic_error(error) : openai_error(error)};
}

}  // namespace

void serve(ServeOptions options, const std::atomic<bool>& stop) {
  LogQueue log(options.log);
  ModelHost models(options.models);
  ServerState state{
      .models = models, .version = version(), .keep_alive = KeepAlive(options.ping), .response_bytes = options.response_bytes};
  models.load("");  // the first model, so that the first request need not wait and errors come at once
  http::Routes routes;
  add_openai_chat(routes, state);
  add_openai_completions(routes, state);
  add_openai_models(routes, state);
  add_openai_responses(routes, state);
  add_anthropic(routes, state);
  add_openai_images(routes, state);
  add_a1111(routes, state);
  add_native(routes, state);
  add_page(routes, state);
  options.http.error_page = error_page;
  if (options.log_requests) options.http.log = [&log](const http::LogEntry& entry) { log.add(http::line_of(entry)); };
  http::HttpServer server(options.http, std::move(routes));
  server.start();
  options.listening(server.address());
  while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  state.draining = true;
  log.add("draining: running requests are answered, new ones are refused");
  if (!server.drain(std::chrono::seconds(options.drain_seconds))) log.add("some requests were not answered in time");
}

}  // namespace hearth::server
