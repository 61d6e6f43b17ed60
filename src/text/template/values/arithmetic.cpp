// + - * / // % as Python computes them, integers in 64 bits.
#include "text/template/values/format.h"
#include "text/template/values/operations.h"

namespace hearth::text::jinja {

namespace {

const char* symbol(Operator op) {
  switch (op) {
    case Operator::add: return "+";
    case Operator::subtract: return "-";
    case Operator::multiply: return "*";
    case Operator::divide: return "/";
    case Operator::floor_divide: return "//";
    case Operator::modulo: return "%";
  }
  return "";
}

Value integers(Operator op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case Operator::add:
      if (__builtin_add_overflow(a, b, &result)) too_wide();
      return result;
    case Operator::subtract:
      if (__builtin_sub_overflow(a, b, &result)) too_wide();
      return result;
    case Operator::multiply:
      if (__builtin_mul_overflow(a, b, &result)) too_wide();
      return result;
    case Operator::divide:
      if (b == 0) refuse(Failure::overflow, "division by zero");
      return double(static_cast<long double>(a) / static_cast<long double>(b));
    case Operator::floor_divide:
      if (b == 0) refuse(Failure::overflow, "integer division or modulo by zero");
      if (b == -1) return integers(Operator::subtract, 0, a);
      return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
    case Operator::modulo:
      if (b == 0) refuse(Failure::overflow, "integer modulo by zero");
      if (b == -1) return 0;
      result = a % b;
      return result != 0 && (result < 0) != (b < 0) ? result + b : result;
  }
  return result;
}

Value reals(Operator op, double a, double b) {
  switch (op) {
    case Operator::add: return a + b;
    case Operator::subtract: return a - b;
    case Operator::multiply: return a * b;
    case Operator::divide:
      if (b == 0) refuse(Failure::overflow, "float division by zero");
      return a / b;
    case Operator::floor_divide:
    case Operator::modulo: break;
  }
  throw Unsupported{fmt::format("{} of floats", symbol(op))};
}

// Markup escapes what is added to it.
Value joined(const Value& a, const Value& b) {
  expect_bytes(a.text().size() + b.text().size());
  if (!a.is_safe() && !b.is_safe()) return Value(a.text() + b.text());
  return Value(escape(a).text() + escape(b).text(), true);
}

Value repeated(const Value& sequence, int64_t times) {
  const auto n = size_t(std::max<int64_t>(times, 0));
  const size_t size = sequence.is_text() ? sequence.text().size() : sequence.items().size() * sizeof(Value);
  if (size == 0 || n == 0)
    return sequence.is_text() ? Value(std::string(), sequence.is_safe()) : Value(sequence.kind(), std::make_shared<ListObject>(List()));
  if (n > (size_t(1) << 40) / size) refuse(Failure::limit, "a sequence of {} bytes {} times", size, n);
  expect_bytes(size * n);
  if (sequence.is_text()) {
    std::string text;
    text.reserve(size * n);
    for (size_t i = 0; i < n; ++i) text += sequence.text();
    return {std::move(text), sequence.is_safe()};
  }
  List items;
  items.reserve(sequence.items().size() * n);
  for (size_t i = 0; i < n; ++i) items.insert(items.end(), sequence.items().begin(), sequence.items().end());
  return {sequence.kind(), std::make_shared<ListObject>(std::move(items))};
}

[[noreturn]] void unsupported(Operator op, const Value& a, const Value& b) {
  const bool sequence = a.is_text() || a.is_list_or_tuple();
  if (op == Operator::add && sequence) {
    const std::string type = a.is_text() ? "str" : a.type_name();
    refuse(Failure::type, "can only concatenate {0} (not \"{1}\") to {0}", type, b.type_name());
  }
  if (op == Operator::multiply && (sequence || b.is_text() || b.is_list_or_tuple()))
    refuse(Failure::type, "can't multiply sequence by non-int of type '{}'", (sequence ? b : a).type_name());
  refuse(Failure::type, "unsupported operand type(s) for {}: '{}' and '{}'", symbol(op), a.type_name(), b.type_name());
}

}  // namespace

void too_wide() { refuse(Failure::overflow, "an integer of more than 64 bits"); }

Value arithmetic(Operator op, const Value& a, const Value& b) {
  if (op == Operator::modulo && a.is_text()) return format_percent(a, b);
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  if (a.is_integer() && b.is_integer()) return integers(op, a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return reals(op, a.as_real(), b.as_real());
  if (a.is(Kind::wide) || b.is(Kind::wide)) too_wide();
  if (op == Operator::add) {
    if (a.is_text() && b.is_text()) return joined(a, b);
    if (a.is_list_or_tuple() && a.kind() == b.kind()) {
      List items = a.items();
      items.insert(items.end(), b.items().begin(), b.items().end());
      return {a.kind(), std::make_shared<ListObject>(std::move(items))};
    }
  }
  if (op == Operator::multiply) {
    if ((a.is_text() || a.is_list_or_tuple()) && b.is_integer()) return repeated(a, b.integer());
    if ((b.is_text() || b.is_list_or_tuple()) && a.is_integer()) return repeated(b, a.integer());
  }
  unsupported(op, a, b);
}

Value negate(const Value& v) {
  if (v.is_undefined()) fail_undefined(v);
  if (v.is_integer()) return integers(Operator::subtract, 0, v.integer());
  if (v.is(Kind::wide)) too_wide();
  if (v.is(Kind::real)) return -v.real();
  refuse(Failure::type, "bad operand type for unary -: '{}'", v.type_name());
}

}  // namespace hearth::text::jinja
