#include "core/error.h"
#include "core/text/utf8.h"
#include "weights/torch/pickle.h"

namespace hearth {
namespace {

using Kind = PickleValue::Kind;

std::string shortened(const PickleValue& v) {
  constexpr size_t longest = 100;
  if (v.kind != Kind::text) return v.kind == Kind::bytes ? "bytes" : "?";
  if (v.text.size() <= longest) return std::string(v.text);
  size_t end = longest;
  while (is_continuation(v.text[end])) --end;  // do not split a character
  return std::string(v.text.substr(0, end)) + "…";
}

}  // namespace

bool PickleValue::is_global(std::string_view module, std::string_view name) const {
  return kind == Kind::global && items[0]->is_text(module) && items[1]->is_text(name);
}

std::string PickleValue::describe() const {
  switch (kind) {
    case Kind::none: return "None";
    case Kind::boolean: return integer ? "True" : "False";
    case Kind::integer: return fmt::format("the integer {}", integer);
    case Kind::big_integer: return "a large integer";
    case Kind::real: return fmt::format("the number {}", real);
    case Kind::text: return fmt::format("the text '{}'", shortened(*this));
    case Kind::bytes: return fmt::format("{} bytes", text.size());
    case Kind::tuple: return fmt::format("a tuple of {}", items.size());
    case Kind::list: return fmt::format("a list of {}", items.size());
    case Kind::set: return fmt::format("a set of {}", items.size());
    case Kind::dict: return fmt::format("a dict of {}", items.size() / 2);
    case Kind::global: return fmt::format("{}.{}", shortened(*items[0]), shortened(*items[1]));
    case Kind::call: return "a call of " + (items[0]->kind == Kind::call ? "what a call returns" : items[0]->describe());
    case Kind::persistent: return "a reference to something outside the pickle";
  }
  return "";
}

}  // namespace hearth
