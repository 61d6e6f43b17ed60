// Why a template could not be read or rendered.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include "hearth/error.h"

namespace hearth::text::jinja {

// The reference's exceptions, as far as a caller may want to tell them apart.
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

// what() is one line: `template 'name', line 12: message`. `message` is the reference's own text, as it is (it may have several lines);
// line is 0 until the place is known.
struct TemplateError : Error {
  TemplateError(Failure kind, std::string message, std::string name = "", int line = 0);

  Failure kind;
  std::string message;
  int line;
};

// A construct of Jinja2 that hearth does not have. Template makes an UnsupportedError of it, with the template's name and the line.
struct Unsupported {
  std::string what;  // "the tag 'include'"
  int line = 0;
};

// Thrown where the place in the template is not known; Template adds it.
template <class... Args> [[noreturn]] void refuse(Failure kind, fmt::format_string<Args...> format, Args&&... args) {
  throw TemplateError(kind, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace hearth::text::jinja
