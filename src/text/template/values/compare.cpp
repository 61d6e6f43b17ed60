// Truth, equality, hashes, order, membership.
#include <cmath>

#include "text/template/values/operations.h"

namespace hearth::text::jinja {

namespace {

// Exact also where an int64 is no double.
template <class Test> bool with_numbers(const Value& a, const Value& b, Test test) {
  if (a.is_integer() && b.is_integer()) return test(a.integer(), b.integer());
  const auto wide = [](const Value& v) {
    return v.is_integer() ? static_cast<long double>(v.integer()) : static_cast<long double>(v.real());
  };
  return test(wide(a), wide(b));
}

// A wide integer is only compared with integers, and only whether they are equal.
bool is_wide_and_real(const Value& a, const Value& b) {
  return (a.is(Kind::wide) && b.is(Kind::real)) || (a.is(Kind::real) && b.is(Kind::wide));
}

bool equal_lists(const List& a, const List& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!equal(a[i], b[i])) return false;
  return true;
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.entries()) {
    const Value* other = b.find(key);
    if (!other || !equal(value, *other)) return false;
  }
  return true;
}

const char* symbol(Comparison how) {
  switch (how) {
    case Comparison::less: return "<";
    case Comparison::less_equal: return "<=";
    case Comparison::greater: return ">";
    case Comparison::greater_equal: return ">=";
  }
  return "";
}

template <class T> bool ordered(Comparison how, const T& a, const T& b) {
  switch (how) {
    case Comparison::less: return a < b;
    case Comparison::less_equal: return a <= b;
    case Comparison::greater: return a > b;
    case Comparison::greater_equal: return a >= b;
  }
  return false;
}

bool compare_lists(Comparison how, const List& a, const List& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (!equal(a[i], b[i])) return compare(how, a[i], b[i]);
  return ordered(how, a.size(), b.size());
}

}  // namespace

bool truth(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
    case Kind::none: return false;
    case Kind::boolean:
    case Kind::integer: return v.integer() != 0;
    case Kind::real: return v.real() != 0;
    case Kind::wide: return true;
    default: break;
  }
  if (v.is(Kind::loop)) return true;
  const auto size = known_length(v);
  return !size || *size != 0;
}

bool equal(const Value& a, const Value& b) {
  count_steps();
  if (a.is_number() && b.is_number()) return with_numbers(a, b, [](auto x, auto y) { return x == y; });
  if (is_wide_and_real(a, b)) too_wide();
  if (a.kind() != b.kind()) return false;
  if (a.object() == b.object()) return true;  // none and undefined too
  const Deeper deeper;
  switch (a.kind()) {
    case Kind::undefined: return true;
    case Kind::wide:
    case Kind::text: count_steps(std::min(a.text().size(), b.text().size()) / 256); return a.text() == b.text();
    case Kind::list:
    case Kind::tuple: return equal_lists(a.items(), b.items());
    case Kind::dict: return equal_dicts(a.entries(), b.entries());
    case Kind::range: return equal_lists(to_list(a), to_list(b));
    default: return false;
  }
}

bool same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is(Kind::real)) return a.real() == b.real();
  if (a.is_text() || a.is(Kind::wide)) return a.text() == b.text();  // the reference interns the texts that templates compare so
  return a.integer() == b.integer() && a.object() == b.object();
}

size_t hash(const Value& v) {
  count_steps();
  switch (v.kind()) {
    case Kind::boolean:
    case Kind::integer: return std::hash<int64_t>()(v.integer());
    case Kind::real:
      if (std::abs(v.real()) < 9e18 && std::floor(v.real()) == v.real()) return std::hash<int64_t>()(int64_t(v.real()));
      return std::hash<double>()(v.real());
    case Kind::wide:
    case Kind::text: count_steps(v.text().size() / 256); return std::hash<std::string>()(v.text());
    case Kind::tuple: {
      const Deeper deeper;
      size_t sum = 0x345678;
      for (const Value& item : v.items()) sum = sum * 1000003 + hash(item);
      return sum;
    }
    case Kind::view:
      if (v.as<ViewObject>().part == ViewObject::Part::values) return std::hash<const void*>()(v.object().get());
      [[fallthrough]];
    case Kind::list:
    case Kind::slice:
    case Kind::dict: refuse(Failure::type, "unhashable type: '{}'", v.type_name());
    default: return std::hash<const void*>()(v.object().get());
  }
}

bool compare(Comparison how, const Value& a, const Value& b) {
  count_steps();
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  if (a.is_number() && b.is_number()) return with_numbers(a, b, [&](auto x, auto y) { return ordered(how, x, y); });
  if (a.is(Kind::wide) || b.is(Kind::wide)) too_wide();
  if (a.is_text() && b.is_text()) {
    count_steps(std::min(a.text().size(), b.text().size()) / 256);
    return ordered(how, a.text(), b.text());
  }
  if (a.is_list_or_tuple() && a.kind() == b.kind()) {
    const Deeper deeper;
    return compare_lists(how, a.items(), b.items());
  }
  refuse(Failure::type, "'{}' not supported between instances of '{}' and '{}'", symbol(how), a.type_name(), b.type_name());
}

bool contains(const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::text:
      if (!item.is_text()) refuse(Failure::type, "'in <string>' requires string as left operand, not {}", item.type_name());
      count_steps(container.text().size() / 256);
      return container.text().find(item.text()) != std::string::npos;
    case Kind::dict: return container.entries().find(item) != nullptr;
    case Kind::view:
      if (container.as<ViewObject>().part == ViewObject::Part::keys) return contains(container.as<ViewObject>().dict, item);
      break;
    default: break;
  }
  if (!is_iterable(container)) refuse(Failure::type, "argument of type '{}' is not iterable", container.type_name());
  const Next next = iterate(container);
  for (Value v; next(v);)
    if (equal(v, item)) return true;
  return false;
}

}  // namespace hearth::text::jinja
