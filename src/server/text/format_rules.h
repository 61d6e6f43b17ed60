// The grammar of a response format.
#pragma once

#include <optional>

#include "server/text/chat.h"
#include "text/grammar/expression.h"

namespace hearth::server {

// Null for Kind::free. ApiError 400 about the field of the request for what cannot be honored.
std::optional<text::grammar::Rules> format_rules(const ResponseFormat& format);
std::string param_of(ResponseFormat::Kind kind);
std::string source_of(const ResponseFormat& format);  // all of it as text; empty for Kind::free

}  // namespace hearth::server
