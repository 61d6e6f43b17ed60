// What stands behind `is`.
#include <map>

#include "text/template/functions/arguments.h"
#include "text/template/functions/functions.h"
#include "text/template/values/operations.h"

namespace hearth::text::jinja {

namespace {

// Known to Jinja2, used by no chat template.
constexpr std::string_view not_here[] = {"callable", "escaped", "filter", "lower", "test", "upper"};

const Value& other(const Bound& a) { return a[0]; }

bool remainder_is(const Value& input, const Value& divisor, int64_t wanted) {
  return equal(arithmetic(Operator::modulo, input, divisor), Value(wanted));
}

template <Kind kind> bool is_kind(const Value& v) { return v.is(kind); }

bool is_sequence(const Value& v) { return v.is_undefined() || v.is_text() || v.is_list_or_tuple() || v.is_dict() || v.is(Kind::range); }

template <Comparison how> bool compares(const Value& v, Arguments& arguments) {
  return compare(how, v, other(Bound("comparison", arguments, {"other"}, 1)));
}
bool is_equal(const Value& v, Arguments& arguments) { return equal(v, other(Bound("eq", arguments, {"other"}, 1))); }
bool is_not_equal(const Value& v, Arguments& arguments) { return !equal(v, other(Bound("ne", arguments, {"other"}, 1))); }

}  // namespace

TestFunction find_test(std::string_view name) {
  static const std::map<std::string_view, TestFunction> tests = {
      {"defined", alone<[](const Value& v) { return !v.is_undefined(); }>},
      {"undefined", alone<is_kind<Kind::undefined>>},
      {"none", alone<is_kind<Kind::none>>},
      {"boolean", alone<is_kind<Kind::boolean>>},
      {"true", alone<[](const Value& v) { return v.is(Kind::boolean) && v.boolean(); }>},
      {"false", alone<[](const Value& v) { return v.is(Kind::boolean) && !v.boolean(); }>},
      {"integer", alone<[](const Value& v) { return v.is(Kind::integer) || v.is(Kind::wide); }>},
      {"float", alone<is_kind<Kind::real>>},
      {"number", alone<[](const Value& v) { return v.is_number() || v.is(Kind::wide); }>},
      {"string", alone<is_kind<Kind::text>>},
      {"mapping", alone<is_kind<Kind::dict>>},
      {"iterable", alone<[](const Value& v) { return is_iterable(v); }>},
      {"sequence", alone<is_sequence>},
      {"odd", alone<[](const Value& v) { return remainder_is(v, 2, 1); }>},
      {"even", alone<[](const Value& v) { return remainder_is(v, 2, 0); }>},
      {"divisibleby", [](const Value& v, Arguments& a) { return remainder_is(v, other(Bound("divisibleby", a, {"num"}, 1)), 0); }},
      {"sameas", [](const Value& v, Arguments& a) { return same(v, other(Bound("sameas", a, {"other"}, 1))); }},
      {"in", [](const Value& v, Arguments& a) { return contains(other(Bound("in", a, {"seq"}, 1)), v); }},
      {"==", is_equal},
      {"eq", is_equal},
      {"equalto", is_equal},
      {"!=", is_not_equal},
      {"ne", is_not_equal},
      {">", compares<Comparison::greater>},
      {"gt", compares<Comparison::greater>},
      {"greaterthan", compares<Comparison::greater>},
      {">=", compares<Comparison::greater_equal>},
      {"ge", compares<Comparison::greater_equal>},
      {"<", compares<Comparison::less>},
      {"lt", compares<Comparison::less>},
      {"lessthan", compares<Comparison::less>},
      {"<=", compares<Comparison::less_equal>},
      {"le", compares<Comparison::less_equal>},
  };
  if (const auto it = tests.find(name); it != tests.end()) return it->second;
  if (std::find(std::begin(not_here), std::end(not_here), name) != std::end(not_here))
    throw Unsupported{fmt::format("the test '{}'", name)};
  return nullptr;
}

}  // namespace hearth::text::jinja
