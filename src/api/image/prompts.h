// Warnings about a request's prompts.
#pragma once

#include "hearth/hearth.h"

namespace hearth::api {

// A warning where nobody has said how prompts are read and one of them holds a weight, which then is text; empty otherwise.
std::string plain_weight_warning(const Request& request);

}  // namespace hearth::api
