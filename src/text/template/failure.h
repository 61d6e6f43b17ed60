// The errors of parsing and rendering a template.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include "hearth/error.h"

namespace hearth::text::jinja {

// The reference's exceptions, grouped by what a caller may want to distinguish.
enum class Failure {
  syntax,     // TemplateSyntaxError, TemplateAssertionError
  raised,     // the template called raise_exception: its message is for the user
  runtime,    // TemplateRuntimeError, FilterArgumentError
  undefined,  // UndefinedError
  security,   // SecurityError: what the sandbox refuses
  type,       // TypeError
  value,      // ValueError, LookupError, AttributeError, AssertionError
  overflow,   // OverflowError, ZeroDivisionError; an integer of more than 64 bits
  limit,      // more steps, memory or depth than Limits allows (RecursionError)
};

// what() is one line: `template 'name', line 12: message`. `message` is the unchanged text of the reference (it may have several lines);
// line is 0 until the position is known.
struct TemplateError : Error {
  TemplateError(Failure kind, std::string message, std::string name = "", int line = 0);

  Failure kind;
  std::string message;
  int line;
};

// A construct of Jinja2 that is not supported. Template converts it to an UnsupportedError with the template's name and the line.
struct Unsupported {
  std::string what;  // "the tag 'include'"
  int line = 0;
};

// Throws without a position in the template; Template adds it.
template <class... Args> [[noreturn]] void refuse(Failure kind, fmt::format_string<Args...> format, Args&&... args) {
  throw TemplateError(kind, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace hearth::text::jinja
