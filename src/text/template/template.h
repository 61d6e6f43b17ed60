// Chat templates are written in Jinja2. This is the part of Jinja2 3.1 that they use, with the environment that transformers 4.57 gives
// them: trim_blocks, lstrip_blocks, no autoescape, break and continue, {% generation %}, the immutable sandbox, raise_exception,
// strftime_now, and its own tojson. README.md lists what is there and what is refused by name.
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
  std::function<LocalTime()> now = {};  // what strftime_now prints; the machine's local time without it
  Limits limits = {};
};

// Constant after parsing: any number of threads may render one. Copies share the tree.
class Template {
 public:
  // Source: UTF-8, as it stands in the file. `name` is for messages. TemplateError with Failure::syntax; UnsupportedError that names
  // a construct of Jinja2 that is not here; IoError for invalid UTF-8 or more than Limits::source bytes. Time linear in the source.
  static Template parse(std::string_view source, std::string name);

  // Reads and changes nothing but what it is given. TemplateError with the line at which it failed; bounded by environment.limits.
  std::string render(const Dict& variables, const Environment& environment = {}) const;

  const std::string& name() const { return name_; }

 private:
  Template(std::shared_ptr<const Tree> tree, std::string name) : tree_(std::move(tree)), name_(std::move(name)) {}

  std::shared_ptr<const Tree> tree_;
  std::string name_;
};

}  // namespace hearth::text::jinja
