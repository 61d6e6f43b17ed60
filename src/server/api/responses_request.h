// POST /v1/responses: from JSON to a chat.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/api/responses_items.h"
#include "server/api/responses_store.h"
#include "server/api/thinking.h"
#include "server/text/chat.h"

namespace hearth::server {

struct ResponsesRequest {
  ChatRequest chat;                        // without messages: they come from `context`
  std::shared_ptr<ResponseTurn> previous;  // null: this begins a conversation
  Json input;                              // this request's items
  Json context;                            // those of the conversation and of this request
  std::optional<std::string> instructions;
  Json echo;  // the fields of the response that repeat the request
  bool stream = false, store = true, background = false;
  bool drop_oldest = false;       // "truncation": "auto"
  bool sealed_reasoning = false;  // "include": "reasoning.encrypted_content"
};

// ApiError for everything that is wrong or cannot be honored, with the path of the field. `generation`: what generation_fields() has read.
ResponsesRequest responses_request(const Fields& request, ResponseStore& store, const ThinkingControl& thinking,
                                   GenerationFields generation);

// Where the context may begin if its oldest items are dropped: numbers of items to drop, ascending, so that what remains begins with a
// message of the user. System and developer messages stay.
std::vector<size_t> droppable(const Json& context);
Json without_oldest(const Json& context, size_t count);

}  // namespace hearth::server
