// What names and choices in a request stand for.
#pragma once

#include "hearth/hearth.h"
#include "sampling/guidance/guidance.h"

namespace hearth::models {

// As prompt_syntax says, else as the program of compat reads prompts, else plain.
PromptSyntax syntax_of(const Request& request);
// UsageError where it is given for another syntax than A1111's.
Emphasis emphasis_of(const Request& request);
// UsageError, UnsupportedError for a method or an option that is not known.
sampling::Guidance guidance_of(const Request& request);
// The sampler by its own name, and the schedule and options that the request's name for it says; "" is the checkpoint's own.
Request with_canonical_sampler(Request request);

}  // namespace hearth::models
