#include "text/template/functions/arguments.h"

#include "text/template/values/operations.h"

namespace hearth::text::jinja {

Bound::Bound(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> parameters, size_t required)
    : values_(parameters.size()), given_(parameters.size()) {
  const std::vector<std::string_view> names(parameters);
  if (arguments.positional.size() > names.size())
    refuse(Failure::type, "{}() takes at most {} arguments ({} given)", function, names.size(), arguments.positional.size());
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    values_[i] = arguments.positional[i];
    given_[i] = true;
  }
  for (const auto& [name, value] : arguments.named) {
    const auto i = size_t(std::find(names.begin(), names.end(), name) - names.begin());
    if (i == names.size()) refuse(Failure::type, "{}() got an unexpected keyword argument '{}'", function, name);
    if (given_[i]) refuse(Failure::type, "{}() got multiple values for argument '{}'", function, name);
    values_[i] = value;
    given_[i] = true;
  }
  for (size_t i = 0; i < required; ++i)
    if (!given_[i]) refuse(Failure::type, "{}() missing required argument '{}'", function, names[i]);
}

bool Bound::truth(size_t i, bool otherwise) const { return given_[i] ? jinja::truth(values_[i]) : otherwise; }

int64_t Bound::integer(size_t i, int64_t otherwise) const { return given_[i] ? as_index(values_[i]) : otherwise; }

std::string Bound::text(size_t i, std::string otherwise) const {
  if (!given_[i]) return otherwise;
  if (values_[i].is_undefined()) fail_undefined(values_[i]);
  if (!values_[i].is_text()) refuse(Failure::type, "needed a str, got '{}'", values_[i].type_name());
  return values_[i].text();
}

}  // namespace hearth::text::jinja
