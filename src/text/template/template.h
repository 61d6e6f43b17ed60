// The part of Jinja2 3.1 that chat templates use, with the environment of transformers 4.57: trim_blocks, lstrip_blocks, no autoescape,
// break and continue, {% generation %}, the immutable sandbox, raise_exception, strftime_now, and its own tojson. README.md lists what is
// supported.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "text/template/budget.h"
#include "text/template/failure.h"
#include "text/template/functions/functions.h"
#include "text/template/values/value.h"

namespace hearth::text::jinja {

struct Tree;

struct Environment {
  std::function<LocalTime()> now = {};  // the time for strftime_now; default: the local time
  Limits limits = {};
};

// Immutable and thread-safe after parsing. Copies share the tree.
class Template {
 public:
  // `source`: the UTF-8 text of the file; `name`: for messages. TemplateError with Failure::syntax; UnsupportedError that names an
  // unsupported construct of Jinja2; IoError for invalid UTF-8 or more than Limits::source bytes. Time is linear in the source.
  static Template parse(std::string_view source, std::string name);

  // Has no side effects. TemplateError with the line of the failure; bounded by environment.limits.
  std::string render(const Dict& variables, const Environment& environment = {}) const;

  const std::string& name() const { return name_; }

 private:
  Template(std::shared_ptr<const Tree> tree, std::string name) : tree_(std::move(tree)), name_(std::move(name)) {}

  std::shared_ptr<const Tree> tree_;
  std::string name_;
};

}  // namespace hearth::text::jinja
