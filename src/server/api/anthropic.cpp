// Anthropic's POST /v1/messages and /v1/messages/count_tokens.
#include "server/api/anthropic_answer.h"
#include "server/api/anthropic_request.h"
#include "server/api/routes.h"
#include "server/api/stream.h"

namespace hearth::server {
namespace {

http::HeaderList headers_of(const std::string& id) { return {{"request-id", id}}; }

std::string error_body(const ApiError& error, const std::string& id) {
  Json body = Json::parse(anthropic_error(error));
  body["request_id"] = id;
  return dumped(body);
}

// Anthropic says 529 for what is 503 elsewhere.
void answer_failure(const http::Responder& to, const std::string& id, const ApiError& error) {
  http::HeaderList headers = headers_of(id);
  if (error.retry_after) headers.emplace_back("Retry-After", std::to_string(*error.retry_after));
  to.respond(error.status == 503 ? 529 : error.status, "application/json", error_body(error, id), headers);
}

void create(ServerState& server, const http::Request& http, const http::Responder& to) {
  const Json body = parse_body(http.body);
  const Fields fields(body);
  const auto service = server.models.language(fields.text("model").value_or(""));
  const AnthropicRequest request = anthropic_request(fields, thinking_control(service->chat_source()), generation_fields(fields, *service));

  const auto live = std::make_shared<LiveRequest>(to);
  AnthropicAnswer::Out out;
  if (request.stream) {
    const auto stream = std::make_shared<EventStream>(live, headers_of(http.id));
    out.event = [stream](const Json& event) { stream->event(event["type"], event); };
    out.ended = [stream](const Json&) { stream->end(); };
    out.failed = [stream, live, id = http.id](const ApiError& error) {
      if (!stream->begun()) return answer_failure(live->to(), id, error);
      stream->raw("event: error\ndata: " + error_body(error, id) + "\n\n");
      stream->end();
    };
    server.keep_alive.watch(stream, "event: ping\ndata: {\"type\":\"ping\"}\n\n");
  } else {
    out.ended = [live, id = http.id](const Json& message) { live->to().respond(200, "application/json", dumped(message), headers_of(id)); };
    out.failed = [live, id = http.id](const ApiError& error) { answer_failure(live->to(), id, error); };
  }
  const auto answer = std::make_shared<AnthropicAnswer>(AnthropicAnswer::Options{.id = new_id("msg_"),
                                                                                 .model = service->id(),
                                                                                 .max_tokens = request.chat.generation.max_tokens,
                                                                                 .shows_thinking = request.shows_thinking},
                                                        std::move(out));
  engine::Engine::Ticket ticket = start_chat(service, request.chat, answer);
  if (request.stream) answer->begin();
  live->hold(std::move(ticket));
}

void count_tokens(ServerState& server, const http::Request& http, const http::Responder& to) {
  const Json body = parse_body(http.body);
  const Fields fields(body);
  const auto service = server.models.language(fields.text("model").value_or(""));
  const AnthropicRequest request = anthropic_request(fields, thinking_control(service->chat_source()), {}, true);
  to.respond(200, "application/json", dumped({{"input_tokens", chat_prompt(*service, request.chat).size()}}), headers_of(http.id));
}

http::Handler handler(ServerState& server, void (*answer)(ServerState&, const http::Request&, const http::Responder&)) {
  return [&server, answer](const http::Request& http, const http::Responder& to) {
    try {
      answer(server, http, to);
    } catch (const std::exception&) {
      const ApiError error = api_error(std::current_exception());
      answer_failure(to, http.id, with_names(error, {{"].function.parameters", "].input_schema"}, {"].function.", "]."}}));
    }
  };
}

}  // namespace

void add_anthropic(http::Routes& routes, ServerState& server) {
  routes.add("POST", "/v1/messages", handler(server, create));
  routes.add("POST", "/v1/messages/count_tokens", handler(server, count_tokens));
}

}  // namespace hearth::server
