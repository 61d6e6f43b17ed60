// Anthropic's POST /v1/messages: from JSON to a chat.
#pragma once

#include "server/api/thinking.h"
#include "server/text/chat.h"

namespace hearth::server {

struct AnthropicRequest {
  ChatRequest chat;
  bool stream = false;
  bool shows_thinking = true;  // "thinking": {"display": "omitted"} hides its text
};

// ApiError for everything that is wrong or cannot be honored, with the path of the field. `generation`: what generation_fields() has read;
// the API's own fields go over it. counting: for count_tokens, which has no max_tokens.
AnthropicRequest anthropic_request(const Fields& request, const ThinkingControl& thinking, GenerationFields generation,
                                   bool counting = false);

}  // namespace hearth::server
