#include "text/template/failure.h"

#include "core/error.h"

namespace hearth::text::jinja {

namespace {

std::string sentence(const std::string& message, const std::string& name, int line) {
  if (line == 0) return one_line("template: " + message);
  return one_line(fmt::format("template '{}', line {}: {}", name, line, message));
}

}  // namespace

TemplateError::TemplateError(Failure why, std::string text, std::string name, int at)
    : Error(sentence(text, name, at)), kind(why), message(std::move(text)), line(at) {}

}  // namespace hearth::text::jinja
