// Meaning of names and choices in a request.
#pragma once

#include "hearth/hearth.h"
#include "sampling/guidance/guidance.h"

namespace hearth::models {

// As prompt_syntax says, else that of the program named by compat, else plain.
PromptSyntax syntax_of(const Request& request);
// UsageError if it is given for another syntax than A1111's.
Emphasis emphasis_of(const Request& request);
// `standard`: the scale if the request has none. UsageError or UnsupportedError for an unknown method or option.
sampling::Guidance guidance_of(const Request& request, double standard);
// The sampler, and the schedule and options implied by the request's name for it; "" is the checkpoint's own sampler.
Request with_canonical_sampler(Request request);

}  // namespace hearth::models
