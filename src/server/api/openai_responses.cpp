// POST /v1/responses, and the responses that are kept.
#include <fmt/format.h>

#include <charconv>

#include "core/error.h"
#include "server/api/responses_answer.h"
#include "server/api/responses_request.h"
#include "server/api/routes.h"
#include "server/api/stream.h"

namespace hearth::server {
namespace {

// Answers that nobody waits for.
struct Running {
  std::shared_ptr<ResponsesAnswer> answer;
  std::shared_ptr<ResponseTurn> turn;  // without its response
  engine::Engine::Ticket ticket;
};

class Responses : public std::enable_shared_from_this<Responses> {
 public:
  explicit Responses(ServerState& server) : server_(server), store_(server.response_bytes) {}

  void create(http::Request& http, const http::Responder& to);
  void get(const http::Request& http, const http::Responder& to);
  void remove(const http::Request& http, const http::Responder& to);
  void cancel(const http::Request& http, const http::Responder& to);
  void input_items(const http::Request& http, const http::Responder& to);

 private:
  std::shared_ptr<ResponsesAnswer> running(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(id);
    return found == running_.end() ? nullptr : found->second.answer;
  }
  std::shared_ptr<ResponseTurn> kept(const std::string& id) {
    auto turn = store_.find(id);
    if (!turn) throw ApiError(404, fmt::format("the response '{}' does not exist, or is no longer kept", id), "", "response_not_found");
    return turn;
  }
  ResponsesAnswer::Out out(const ResponsesRequest& request, const std::string& id, const std::shared_ptr<LiveRequest>& live);

  ServerState& server_;
  ResponseStore store_;
  std::mutex mutex_;
  std::map<std::string, Running> running_;
};

void respond(const http::Responder& to, const Json& body) { to.respond(200, "application/json", dumped(body)); }

// The oldest turns go until there is room for the answer, a quarter of the context unless max_output_tokens says otherwise, but at most
// half.
void fit(const LanguageService& service, ResponsesRequest& request) {
  const int64_t context = service.engine().context();
  const int64_t room = context - std::min(request.chat.generation.max_tokens.value_or(context / 4), context / 2);
  const auto fits = [&](size_t dropped) {
    request.chat.messages = messages_of_items(without_oldest(request.context, dropped), request.instructions);
    return std::ssize(chat_prompt(service, request.chat)) <= room;
  };
  if (fits(0)) return;
  const std::vector<size_t> counts = droppable(request.context);
  const auto first = std::partition_point(counts.begin(), counts.end(), [&](size_t dropped) { return !fits(dropped); });
  fits(first == counts.end() ? (counts.empty() ? 0 : counts.back()) : *first);
}

Json head_of(const LanguageService& service, const ResponsesRequest& request) {
  const sampling::SamplingParameters p = sampling::resolve(service.state().defaults, request.chat.generation.sampling);
  Json head{{"id", new_id("resp_")},
            {"created_at", unix_seconds()},
            {"model", service.id()},
            {"temperature", p.temperature},
            {"top_p", p.top_p},
            {"presence_penalty", p.presence_penalty},
            {"frequency_penalty", p.frequency_penalty}};
  for (const auto& [name, value] : request.echo.items()) head[name] = value;
  return head;
}

ResponsesAnswer::Out Responses::out(const ResponsesRequest& request, const std::string& id, const std::shared_ptr<LiveRequest>& live) {
  ResponsesAnswer::Out made;
  const auto stream = request.stream ? std::make_shared<EventStream>(live) : nullptr;
  if (stream) {
    made.event = [stream](const Json& event) { stream->event(event["type"], event); };
    server_.keep_alive.watch(stream, ": still working\n\n");
  }
  const auto turn = std::make_shared<ResponseTurn>();
  turn->previous = request.previous;
  turn->input = request.input;
  made.ready = [self = shared_from_this(), turn, id, store = request.store, background = request.background](const Json& response) {
    // Of an answer that failed its client has nothing to ask for again.
    if (store && (background || response["status"] != "failed")) {
      auto complete = std::make_shared<ResponseTurn>();
      complete->previous = turn->previous, complete->input = turn->input, complete->response = response;
      self->store_.keep(std::move(complete));
    }
    if (!background) return;
    Running done;
    const std::lock_guard lock(self->mutex_);
    if (const auto found = self->running_.find(id); found != self->running_.end()) {
      done = std::move(found->second);
      self->running_.erase(found);
    }
  };
  made.ended = [stream, live, background = request.background](const Json& response, const ApiError* error) {
    if (stream) {
      stream->raw("data: [DONE]\n\n");
      stream->end();
    } else if (!background) {
      if (error) answer_error(live->to(), openai_error, *error);
      else respond(live->to(), response);
    }
  };
  if (request.background) {
    const std::lock_guard lock(mutex_);
    running_[id].turn = turn;
  }
  return made;
}

void Responses::create(http::Request& http, const http::Responder& to) {
  const Json body = parse_body(http.body);
  const Fields fields(body);
  const auto service = server_.models.language(fields.text("model").value_or(""));
  ResponsesRequest request =
      responses_request(fields, store_, thinking_control(service->chat_source()), generation_fields(fields, *service));
  if (request.drop_oldest) fit(*service, request);
  else request.chat.messages = messages_of_items(request.context, request.instructions);

  const auto live = std::make_shared<LiveRequest>(to);
  const Json head = head_of(*service, request);
  const std::string id = head["id"];
  const auto answer = std::make_shared<ResponsesAnswer>(
      ResponsesAnswer::Options{.head = head,
                               .sealed_reasoning = request.sealed_reasoning,
                               .token_bytes = [service](int32_t token) { return service->token_bytes(token); }},
      out(request, id, live));
  if (request.background) {
    const std::lock_guard lock(mutex_);
    running_[id].answer = answer;
  }
  try {
    engine::Engine::Ticket ticket = start_chat(service, request.chat, answer);
    if (request.stream) answer->begin();
    if (!request.background) return live->hold(std::move(ticket));
    if (!request.stream) respond(to, answer->snapshot());
    const std::lock_guard lock(mutex_);
    if (const auto found = running_.find(id); found != running_.end()) found->second.ticket = std::move(ticket);
  } catch (const std::exception&) {
    {
      const std::lock_guard lock(mutex_);
      running_.erase(id);
    }
    throw with_names(api_error(std::current_exception()), {{"].function.", "]."}, {"response_format", "text.format.schema"}});
  }
}

void Responses::get(const http::Request& http, const http::Responder& to) {
  if (http.query_value("stream") == "true")
    throw ApiError(400, "stream: a response that has begun is not streamed again, ask for it without stream", "stream", "unsupported");
  const std::string id(http.param("id"));
  if (const auto answer = running(id)) return respond(to, answer->snapshot());
  respond(to, kept(id)->response);
}

void Responses::remove(const http::Request& http, const http::Responder& to) {
  const std::string id(http.param("id"));
  if (const auto answer = running(id)) answer->cancel();
  kept(id);
  store_.remove(id);
  respond(to, {{"id", id}, {"object", "response"}, {"deleted", true}});
}

void Responses::cancel(const http::Request& http, const http::Responder& to) {
  const std::string id(http.param("id"));
  if (const auto answer = running(id)) answer->cancel();
  const Json& response = kept(id)->response;
  if (!response["background"].get<bool>())
    throw ApiError(400, "only responses with background: true are canceled like this, others by closing the connection", "",
                   "not_background");
  respond(to, response);
}

void Responses::input_items(const http::Request& http, const http::Responder& to) {
  const std::string id(http.param("id"));
  std::shared_ptr<ResponseTurn> turn;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = running_.find(id); found != running_.end()) turn = found->second.turn;
  }
  if (!turn) turn = kept(id);
  Json items = turn->previous ? turn->previous->context() : Json::array();
  for (const Json& item : turn->input) items.push_back(item);

  const auto order = http.query_value("order"), limit_text = http.query_value("limit"), after = http.query_value("after");
  if (!order.empty() && order != "asc" && order != "desc") throw ApiError(400, "order: expected asc or desc", "order");
  size_t limit = 20;
  if (!limit_text.empty()) {
    const auto [end, error] = std::from_chars(limit_text.data(), limit_text.data() + limit_text.size(), limit);
    if (error != std::errc() || end != limit_text.data() + limit_text.size() || limit < 1 || limit > 100)
      throw ApiError(400, "limit: expected an integer from 1 to 100", "limit");
  }
  if (order != "asc") std::ranges::reverse(items);
  auto first = items.begin();
  if (!after.empty()) {
    first = std::ranges::find_if(items, [&](const Json& item) { return item["id"] == after; });
    if (first == items.end()) throw ApiError(400, fmt::format("after: there is no item '{}'", after), "after");
    ++first;
  }
  const auto last = first + std::min(std::ptrdiff_t(limit), items.end() - first);
  const bool more = last != items.end();
  Json data = Json::array();
  for (auto i = first; i != last; ++i) data.push_back(std::move(*i));
  const Json first_id = data.empty() ? Json() : data.front()["id"], last_id = data.empty() ? Json() : data.back()["id"];
  respond(to, {{"object", "list"}, {"data", std::move(data)}, {"first_id", first_id}, {"last_id", last_id}, {"has_more", more}});
}

}  // namespace

void add_openai_responses(http::Routes& routes, ServerState& server) {
  const auto responses = std::make_shared<Responses>(server);
  const auto add = [&](const char* method, const char* pattern, auto member) {
    routes.add(method, pattern,
               guarded(openai_error, [responses, member](http::Request& r, const http::Responder& to) { ((*responses).*member)(r, to); }));
  };
  add("POST", "/v1/responses", &Responses::create);
  add("GET", "/v1/responses/{id}", &Responses::get);
  add("DELETE", "/v1/responses/{id}", &Responses::remove);
  add("POST", "/v1/responses/{id}/cancel", &Responses::cancel);
  add("GET", "/v1/responses/{id}/input_items", &Responses::input_items);
}

}  // namespace hearth::server
