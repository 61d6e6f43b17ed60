// Python's pprint.pformat in its default style: 80 columns, the keys of dicts sorted, long texts in pieces.
#pragma once

#include <string>

#include "text/template/values/value.h"

namespace hearth::text::jinja {

std::string pretty(const Value& value);

}  // namespace hearth::text::jinja
