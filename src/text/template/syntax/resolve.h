// Which variable each name means, decided once after parsing, as Jinja2's compiler does (idtracking.py there). A block's names are its
// own for the whole block: one that it sets anywhere is its own from the start, a copy of the one further out; without one further out,
// a name whose first mention is a `set` is undefined until then, even if the caller gives a variable of that name.
#pragma once

#include "text/template/syntax/tree.h"

namespace hearth::text::jinja {

// TemplateError (Failure::syntax or value), with its line, for what Jinja2 refuses here.
Tree resolve(Block body);

}  // namespace hearth::text::jinja
