#include "text/template/values/attribute_path.h"

#include "text/template/values/number.h"
#include "text/template/values/operations.h"
#include "text/template/values/python_text.h"

namespace hearth::text::jinja {

AttributePath::AttributePath(const Value& path) {
  if (path.is_none()) return;
  if (!path.is_text()) {
    parts_.push_back(path);
    return;
  }
  for (const std::string_view part : split(path.text(), ".", -1)) {
    const bool digits = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    const auto number = digits ? parse_integer(part) : std::nullopt;
    parts_.push_back(number ? Value(*number) : Value(part));
  }
}

std::vector<AttributePath> AttributePath::several(const Value& paths) {
  if (!paths.is_text()) return {AttributePath(paths)};
  std::vector<AttributePath> result;
  for (const std::string_view path : split(paths.text(), ",", -1)) result.emplace_back(Value(path));
  return result;
}

Value AttributePath::of(const Value& item, const Value* otherwise) const {
  Value result = item;
  for (const Value& part : parts_) {
    result = element(result, part);
    if (otherwise && result.is_undefined()) result = *otherwise;
  }
  return result;
}

Value ignore_case(const Value& value) { return value.is_text() ? Value(lower(value.text())) : value; }

}  // namespace hearth::text::jinja
