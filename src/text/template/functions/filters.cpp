// Which filters there are, and the ones that make numbers.
#include <cmath>
#include <map>

#include "text/template/functions/arguments.h"
#include "text/template/functions/functions.h"
#include "text/template/values/number.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"

namespace hearth::text::jinja {

namespace {

// Known to Jinja2, used by no chat template.
constexpr std::string_view not_here[] = {"attr",   "batch",     "center",   "filesizeformat", "forceescape", "groupby",
                                         "pprint", "random",    "slice",    "striptags",      "truncate",    "urlencode",
                                         "urlize", "wordcount", "wordwrap", "xmlattr"};

Value to_int(const Value& input, Arguments& arguments) {
  const Bound a("int", arguments, {"default", "base"}, 0);
  if (input.is_undefined()) fail_undefined(input);
  if (input.is_integer()) return input.integer();
  if (input.is(Kind::wide)) return input;
  if (input.is_text()) {
    if (a.integer(1, 10) != 10) throw Unsupported{"the filter 'int' with another base than 10"};
    if (const auto n = parse_integer(input.text())) return *n;
  }
  std::optional<double> real;
  if (input.is(Kind::real)) real = input.real();
  if (input.is_text()) real = parse_real(input.text());
  if (real && std::isfinite(*real)) {
    if (std::abs(*real) >= 9.2e18) too_wide();
    return int64_t(*real);
  }
  return a.has(0) ? a[0] : Value(0);
}

Value to_float(const Value& input, Arguments& arguments) {
  const Bound a("float", arguments, {"default"}, 0);
  if (input.is_undefined()) fail_undefined(input);
  if (input.is_number()) return input.as_real();
  if (input.is(Kind::wide)) too_wide();
  if (input.is_text())
    if (const auto real = parse_real(input.text())) return *real;
  return a.has(0) ? a[0] : Value(0.0);
}

Value absolute(const Value& input) {
  if (input.is_undefined()) refuse(Failure::type, "bad operand type for abs(): 'Undefined'");
  if (input.is_integer()) return input.integer() < 0 ? negate(input) : Value(input.integer());
  if (input.is(Kind::real)) return std::abs(input.real());
  if (input.is(Kind::wide)) too_wide();
  refuse(Failure::type, "bad operand type for abs(): '{}'", input.type_name());
}

Value rounded(const Value& input, Arguments& arguments) {
  const Bound a("round", arguments, {"precision", "method"}, 0);
  const std::string how = a.text(1, "common");
  if (how != "common" && how != "ceil" && how != "floor") refuse(Failure::runtime, "method must be common, ceil or floor");
  if (input.is_undefined() && how != "common") fail_undefined(input);
  if (input.is_undefined()) refuse(Failure::type, "type Undefined doesn't define __round__ method");
  if (!input.is_number()) refuse(Failure::type, "type {} doesn't define __round__ method", input.type_name());
  const int64_t precision = a.integer(0, 0);
  if (precision < 0) throw Unsupported{"the filter 'round' with a negative precision"};
  if (how == "common") return input.is_integer() ? Value(input.integer()) : Value(round_real(input.real(), precision));
  const double scale = std::pow(10.0, double(precision)), x = input.as_real() * scale;
  if (!std::isfinite(x)) refuse(Failure::overflow, "cannot convert float {} to integer", repr(Value(x)));
  return (how == "ceil" ? std::ceil(x) : std::floor(x)) / scale;
}

}  // namespace

FilterFunction find_number_filter(std::string_view name) {
  static const std::map<std::string_view, FilterFunction> filters = {
      {"abs", alone<absolute>}, {"float", to_float}, {"int", to_int}, {"round", rounded}};
  const auto it = filters.find(name);
  return it == filters.end() ? nullptr : it->second;
}

FilterFunction find_filter(std::string_view name) {
  for (const auto find : {find_text_filter, find_sequence_filter, find_order_filter, find_number_filter})
    if (const FilterFunction filter = find(name)) return filter;
  if (std::find(std::begin(not_here), std::end(not_here), name) != std::end(not_here))
    throw Unsupported{fmt::format("the filter '{}'", name)};
  return nullptr;
}

}  // namespace hearth::text::jinja
