// How a request has its prompts read.
#pragma once

#include "hearth/hearth.h"

namespace hearth::api {

// As prompt_syntax says, else as the program of compat reads prompts, else plain.
PromptSyntax syntax_of(const Request& request);
// UsageError where it is given for another syntax than A1111's.
Emphasis emphasis_of(const Request& request);

// A warning where nobody has said how prompts are read and one of them holds a weight, which then is text; empty otherwise.
std::string plain_weight_warning(const Request& request);

}  // namespace hearth::api
