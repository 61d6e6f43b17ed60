// The functions, filters and tests of templates. Each follows that of the same name in Jinja2 3.1.
#pragma once

#include <ctime>
#include <functional>
#include <string_view>

#include "text/template/values/value.h"

namespace hearth::text::jinja {

using FilterFunction = Value (*)(const Value& input, Arguments& arguments);
using TestFunction = bool (*)(const Value& input, Arguments& arguments);

// nullptr for a name that Jinja2 does not have. Unsupported for one that Jinja2 has and hearth does not support.
FilterFunction find_filter(std::string_view name);
TestFunction find_test(std::string_view name);

// For one group each; nullptr if it has none of that name.
FilterFunction find_text_filter(std::string_view name);
FilterFunction find_sequence_filter(std::string_view name);
FilterFunction find_order_filter(std::string_view name);
FilterFunction find_number_filter(std::string_view name);

struct LocalTime {
  std::tm time = {};
  int microseconds = 0;
};

// range, dict, namespace, cycler, joiner, raise_exception, strftime_now. Each new namespace is passed to `keep`, so that the rendering can
// break reference cycles at its end.
Dict global_functions(std::function<LocalTime()> now, std::function<void(std::shared_ptr<SpaceObject>)> keep);

}  // namespace hearth::text::jinja
