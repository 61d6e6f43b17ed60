#include "text/template/template.h"

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/template/interpreter.h"
#include "text/template/syntax/parser.h"

namespace hearth::text::jinja {

Template Template::parse(std::string_view source, std::string name) {
  if (source.size() > Limits::source) fail<IoError>("template '{}': {} bytes, at most {}", name, source.size(), size_t(Limits::source));
  if (!is_utf8(source)) fail<IoError>("template '{}': no valid UTF-8", name);
  try {
    auto tree = std::make_shared<const Tree>(jinja::parse(source));
    return {std::move(tree), std::move(name)};
  } catch (const TemplateError& e) { throw TemplateError(e.kind, e.message, name, e.line); } catch (const Unsupported& e) {
    fail<UnsupportedError>("template '{}', line {}: {} is not supported", name, e.line, e.what);
  }
}

std::string Template::render(const Dict& variables, const Environment& environment) const {
  Budget budget(environment.limits);
  const BudgetScope scope(budget);
  Interpreter interpreter(*tree_, variables, environment);
  try {
    return interpreter.run();
  } catch (const TemplateError& e) { throw TemplateError(e.kind, e.message, name_, interpreter.line()); } catch (const Unsupported& e) {
    fail<UnsupportedError>("template '{}', line {}: {} is not supported", name_, interpreter.line(), e.what);
  }
}

}  // namespace hearth::text::jinja
