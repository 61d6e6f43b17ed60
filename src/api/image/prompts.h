// Warnings about a request's prompts.
#pragma once

#include "hearth/hearth.h"

namespace hearth::api {

// A warning if the request does not choose a prompt syntax and a prompt contains a weight, which is then parsed as text; else empty.
std::string plain_weight_warning(const Request& request);

}  // namespace hearth::api
