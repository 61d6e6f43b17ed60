#include "models/request.h"

#include <fmt/format.h>

#include "core/error.h"
#include "sampling/compat/sampler_names.h"

namespace hearth::models {

PromptSyntax syntax_of(const Request& request) {
  if (request.prompt_syntax) return *request.prompt_syntax;
  if (request.compat == Compat::comfyui) return PromptSyntax::comfyui;
  return request.compat == Compat::a1111 ? PromptSyntax::a1111 : PromptSyntax::plain;
}

Emphasis emphasis_of(const Request& request) {
  if (!request.emphasis) return Emphasis::original;
  if (const PromptSyntax syntax = syntax_of(request); syntax != PromptSyntax::a1111)
    fail<UsageError>("generate: emphasis '{}' requires A1111's prompt syntax, but the syntax is {}", name_of(*request.emphasis),
                     name_of(syntax));
  return *request.emphasis;
}

sampling::Guidance guidance_of(const Request& r, double standard) {
  const sampling::GuidanceMethod& method = sampling::find_guidance(r.guidance_method.empty() ? "cfg" : r.guidance_method);
  sampling::Guidance g{.scale = r.guidance.value_or(standard), .method = &method, .rescale = r.guidance_rescale};
  g.options = sampling::parse_options(fmt::format("guidance '{}'", method.name), method.options, r.guidance_options);
  if (r.guidance_interval) g.lowest = (*r.guidance_interval)[0], g.highest = (*r.guidance_interval)[1];
  return g;
}

Request with_canonical_sampler(Request r) {
  if (r.sampler.empty()) return r;
  const sampling::NamedSampler read = sampling::read_sampler_name(r.sampler, r.schedule);
  r.sampler = read.sampler->name, r.schedule = read.schedule;
  for (const auto& [name, value] : read.options) r.sampler_options.emplace(name, fmt::format("{}", value));
  return r;
}

}  // namespace hearth::models
