// The routes that belong to no other API: words of a model, health, metrics, models in memory.
#include <fmt/format.h>

#include "core/text/utf8.h"
#include "server/api/metrics.h"
#include "server/api/openapi.h"
#include "server/api/routes.h"
#include "server/api/stream.h"
#include "server/text/chat.h"

namespace hearth::server {
namespace {

void tokenize(ServerState& server, http::Request& http, const http::Responder& to) {
  const Json body = parse_body(http.body);
  const Fields request(body);
  const auto service = server.models.language(request.text("model").value_or(""));
  const auto content = request.text("content"), prompt = request.text("prompt");
  const bool special = request.flag("add_special").value_or(request.flag("add_special_tokens").value_or(true));
  const bool parse = request.flag("parse_special").value_or(true);
  std::vector<int32_t> ids;
  if (request.has("messages")) {
    if (content || prompt) request.refuse("messages", "only one of this, content and prompt can be tokenized");
    ChatRequest chat{.messages = *request.list("messages")};
    if (const Json* tools = request.list("tools"); tools && !tools->empty()) chat.tools = *tools;
    chat.continue_final_message = !request.flag("add_generation_prompt").value_or(true);
    ids = chat_prompt(*service, chat);
  } else {
    if (!content && !prompt) request.refuse("content", "is missing, expected a text");
    ids = service->tokenizer().encode(content ? *content : *prompt, {.add_special_tokens = special, .parse_special_tokens = parse});
  }
  Json tokens = ids;
  if (request.flag("with_pieces").value_or(false)) {
    tokens = Json::array();
    for (const int32_t id : ids) tokens.push_back({{"id", id}, {"piece", valid_utf8(service->token_bytes(id))}});
  }
  to.respond(200, "application/json", dumped({{"tokens", tokens}, {"count", ids.size()}, {"max_model_len", service->engine().context()}}));
}

void detokenize(ServerState& server, http::Request& http, const http::Responder& to) {
  const Json body = parse_body(http.body);
  const Fields request(body);
  const auto service = server.models.language(request.text("model").value_or(""));
  const Json* tokens = request.list("tokens");
  if (!tokens) request.refuse("tokens", "is missing, expected a list of token ids");
  std::vector<int32_t> ids;
  for (const Json& id : *tokens) {
    if (!id.is_number_integer() || id < 0 || id >= service->state().model->sizes().vocabulary)
      request.refuse("tokens",
                     fmt::format("{}, expected token ids from 0 to {}", id.dump(), service->state().model->sizes().vocabulary - 1));
    ids.push_back(id.get<int32_t>());
  }
  const std::string text = service->tokenizer().decode(ids);
  to.respond(200, "application/json", dumped({{"content", text}, {"prompt", text}}));
}

void apply_template(ServerState& server, http::Request& http, const http::Responder& to) {
  const Json body = parse_body(http.body);
  const Fields request(body);
  const auto service = server.models.language(request.text("model").value_or(""));
  request.need("messages");
  ChatRequest chat{.messages = *request.list("messages")};
  if (const Json* tools = request.list("tools"); tools && !tools->empty()) chat.tools = *tools;
  if (const auto variables = request.object("chat_template_kwargs")) chat.template_variables = variables->json();
  const std::vector<int32_t> ids = chat_prompt(*service, chat);
  to.respond(200, "application/json", dumped({{"prompt", service->tokenizer().decode(ids)}, {"tokens", ids}}));
}

void props(ServerState& server, const http::Responder& to) {
  Json models = Json::array();
  for (const OfferedModel& m : server.models.list()) models.push_back(m.id);
  Json made{{"version", server.version}, {"models", models}};
  for (const auto& service : server.models.loaded_language()) {
    made["model"] = service->id();
    made["family"] = service->state().family;
    made["chat_template"] = service->chat_source();
    made["default_generation_settings"] = {{"n_ctx", service->engine().context()}};
    made["total_slots"] = service->engine().memory().parallel;
    break;
  }
  to.respond(200, "application/json", dumped(made));
}

void slots(ServerState& server, const http::Responder& to) {
  Json all = Json::array();
  for (const auto& service : server.models.loaded_language()) {
    const engine::EngineMetrics m = service->engine().metrics();
    all.push_back({{"model", service->id()},
                   {"slots", service->engine().memory().parallel},
                   {"running", m.running},
                   {"waiting", m.waiting},
                   {"n_ctx", service->engine().context()}});
  }
  to.respond(200, "application/json", dumped(all));
}

void residency(ServerState& server, http::Request& http, const http::Responder& to, bool load) {
  const Json body = parse_body(http.body);
  const Fields request(body);
  const std::string id = request.need_text("model");
  if (load) server.models.load(id);
  else server.models.unload(id);
  to.respond(200, "application/json", dumped({{"success", true}, {"model", id}, {"loaded", load}}));
}

}  // namespace

void add_native(http::Routes& routes, ServerState& server) {
  using Request = http::Request;
  using Responder = http::Responder;
  constexpr http::RouteOptions open{.open = true, .at_once = true};
  const auto health = [](Request, const Responder& to) { to.respond(200, "application/json", R"({"status":"ok"})"); };
  routes.add("GET", "/health", health, open);
  routes.add("GET", "/v1/health", health, open);
  routes.add(
      "GET", "/ready",
      [&server](Request, const Responder& to) {
        if (server.draining) to.respond(503, "application/json", R"({"status":"draining"})", {{"Retry-After", "5"}});
        else to.respond(200, "application/json", R"({"status":"ready"})");
      },
      open);
  routes.add("GET", "/metrics",
             [&server](Request, const Responder& to) { to.respond(200, "text/plain; version=0.0.4; charset=utf-8", metrics_text(server)); },
             {.at_once = true});
  routes.add(
      "GET", "/openapi.json",
      [document = dumped(openapi_document(server.version))](Request, const Responder& to) {
        to.respond(200, "application/json", document);
      },
      open);
  for (const char* path : {"/tokenize", "/v1/tokenize"})
    routes.add("POST", path, guarded(openai_error, [&server](Request& r, const Responder& to) { tokenize(server, r, to); }));
  for (const char* path : {"/detokenize", "/v1/detokenize"})
    routes.add("POST", path, guarded(openai_error, [&server](Request& r, const Responder& to) { detokenize(server, r, to); }));
  routes.add("POST", "/apply-template",
             guarded(openai_error, [&server](Request& r, const Responder& to) { apply_template(server, r, to); }));
  routes.add("GET", "/props", guarded(openai_error, [&server](Request&, const Responder& to) { props(server, to); }));
  routes.add("GET", "/slots", guarded(openai_error, [&server](Request&, const Responder& to) { slots(server, to); }));
  routes.add("POST", "/models/load", guarded(openai_error, [&server](Request& r, const Responder& to) { residency(server, r, to, true); }));
  routes.add("POST", "/models/unload",
             guarded(openai_error, [&server](Request& r, const Responder& to) { residency(server, r, to, false); }));
}

}  // namespace hearth::server
