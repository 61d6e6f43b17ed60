// Log-probabilities in the form that OpenAI's chat completions and responses share.
#pragma once

#include <functional>
#include <string>

#include "engine/request.h"
#include "server/fields.h"

namespace hearth::server {

using TokenBytes = std::function<std::string(int32_t token)>;  // what the token adds to a text; may be a part of a character

// {"token", "logprob", "bytes", "top_logprobs": [{"token", "logprob", "bytes"}]}
Json logprob_json(const TokenBytes& token_bytes, const engine::TokenLogprob& row);

}  // namespace hearth::server
