// The routes of every API. Each function adds its own, with the rows of its document (openapi.h).
#pragma once

#include <atomic>

#include "server/api/keep_alive.h"
#include "server/fields.h"
#include "server/http/routes.h"
#include "server/model_host.h"

namespace hearth::server {

struct ServerState {
  ModelHost& models;
  // Set while the server drains: new requests get 503.
  std::atomic<bool> draining = false;
  std::string version;
  KeepAlive keep_alive;   // of streams, while a long prompt is processed
  size_t response_bytes;  // ServeOptions::response_bytes
};

void add_openai_chat(http::Routes& routes, ServerState& server);         // openai_chat.cpp
void add_openai_completions(http::Routes& routes, ServerState& server);  // openai_completions.cpp
void add_openai_models(http::Routes& routes, ServerState& server);       // openai_models.cpp: models, embeddings
void add_openai_responses(http::Routes& routes, ServerState& server);    // openai_responses.cpp
void add_anthropic(http::Routes& routes, ServerState& server);           // anthropic.cpp
void add_native(http::Routes& routes, ServerState& server);              // native.cpp: tokenize, health, metrics, props, slots …
void add_openai_images(http::Routes& routes, ServerState& server);       // openai_images.cpp
void add_a1111(http::Routes& routes, ServerState& server);               // a1111.cpp
void add_page(http::Routes& routes, ServerState& server);                // ../page

// A handler that answers what it throws in the API's own form.
using ErrorBody = std::string (*)(const ApiError& error);
std::string openai_error(const ApiError& error);     // {"error": {message, type, param, code}}
std::string anthropic_error(const ApiError& error);  // {"type": "error", "error": {type, message}}
std::string a1111_error(const ApiError& error);      // {"detail": …, "error": …, "errors": …}
http::Handler guarded(ErrorBody form, std::function<void(http::Request&, const http::Responder&)> handler);
void answer_error(const http::Responder& to, ErrorBody form, const ApiError& error);

}  // namespace hearth::server
