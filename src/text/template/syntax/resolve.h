// Resolves names to variables once after parsing, like Jinja2's compiler (idtracking.py). A name that a block sets anywhere is local to the
// whole block, and starts as a copy of the outer variable. If there is no outer variable, a name whose first use is a `set` is undefined
// until then, even if the caller passes a variable of that name.
#pragma once

#include "text/template/syntax/tree.h"

namespace hearth::text::jinja {

// TemplateError (Failure::syntax or value), with its line, for names that Jinja2 refuses here.
Tree resolve(Block body);

}  // namespace hearth::text::jinja
