// What templates can call by name. Each follows Jinja2 3.1 of that name.
#pragma once

#include <ctime>
#include <functional>
#include <string_view>

#include "text/template/values/value.h"

namespace hearth::text::jinja {

using FilterFunction = Value (*)(const Value& input, Arguments& arguments);
using TestFunction = bool (*)(const Value& input, Arguments& arguments);

// Null for a name that Jinja2 does not know. Unsupported for one that it knows and hearth does not have.
FilterFunction find_filter(std::string_view name);
TestFunction find_test(std::string_view name);

// Of one group each, null where it has none of that name.
FilterFunction find_text_filter(std::string_view name);
FilterFunction find_sequence_filter(std::string_view name);
FilterFunction find_order_filter(std::string_view name);
FilterFunction find_number_filter(std::string_view name);

struct LocalTime {
  std::tm time = {};
  int microseconds = 0;
};

// range, dict, namespace, raise_exception, strftime_now. Each new namespace is passed to `keep`, so that the rendering can
// break reference cycles at its end.
Dict global_functions(std::function<LocalTime()> now, std::function<void(std::shared_ptr<SpaceObject>)> keep);

}  // namespace hearth::text::jinja
