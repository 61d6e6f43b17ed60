// How the members of a Request are read and told, by their types: what rows of settings are made of (table.cpp). A source that makes rows
// includes <nlohmann/json.hpp> before this.
#pragma once

#include <array>
#include <map>
#include <type_traits>

#include "api/settings/setting.h"
#include "core/error.h"
#include "core/values.h"

namespace hearth::api {

Json nothing();
Json told(bool value);
Json told(int64_t value);
Json told(uint64_t value);
Json told(double value);
Json told(std::string_view value);
Json told(const std::array<int64_t, 2>& value);
Json told(const std::array<int64_t, 4>& value);
Json told(const std::array<double, 2>& value);
Json told(const std::vector<double>& value);
Json told(const std::map<std::string, std::string>& value);
Json told(const std::map<std::string, double>& value);

// A value as it is typed. UsageError.
template <class Value> Value read(const std::string& text, const Setting& setting);
template <> bool read(const std::string& text, const Setting& setting);
template <> int64_t read(const std::string& text, const Setting& setting);
template <> uint64_t read(const std::string& text, const Setting& setting);
template <> double read(const std::string& text, const Setting& setting);
template <> std::string read(const std::string& text, const Setting& setting);
template <> std::array<int64_t, 4> read(const std::string& text, const Setting& setting);
template <> std::array<double, 2> read(const std::string& text, const Setting& setting);
template <> std::vector<double> read(const std::string& text, const Setting& setting);

template <class T> struct Stored {
  using Value = T;
  static constexpr bool optional = false;
};
template <class T> struct Stored<std::optional<T>> {
  using Value = T;
  static constexpr bool optional = true;
};

template <class Value> constexpr Form form_of() {
  if constexpr (std::is_same_v<Value, bool>) return Form::toggle;
  else if constexpr (std::is_integral_v<Value>) return Form::whole;
  else if constexpr (std::is_floating_point_v<Value>) return Form::number;
  else if constexpr (std::is_enum_v<Value> || std::is_same_v<Value, std::string>) return Form::text;
  else if constexpr (requires { typename Value::mapped_type; }) return Form::options;
  else return Form::list;
}

// Where a member stands: a function of the request, const or not → a pointer to it; null where the part that it belongs to is not there.
template <class T> auto at(T Request::*member) {
  return [=](auto& r) { return &(r.*member); };
}
template <class Part, class T> auto at(Part Request::*part, T Part::*member) {
  return [=](auto& r) { return &(r.*part.*member); };
}
template <class Part, class T> auto at(std::optional<Part> Request::*part, T Part::*member) {
  return [=](auto& r) { return r.*part ? &(*(r.*part).*member) : nullptr; };
}

// What `shown` leaves open: type, choices, the default in words, as the member has it.
Setting completed(Setting shown, const Row& row);

// A row for the member `where` (see at()). `needs`: the flag that makes the part that it belongs to.
template <class Where> Row row(Setting shown, Where where, Telling telling = {}, std::string_view needs = {}) {
  using Member = std::remove_pointer_t<decltype(where(std::declval<Request&>()))>;
  using Value = typename Stored<Member>::Value;
  Row made{.form = form_of<Value>(), .told = std::move(telling)};
  if constexpr (std::is_enum_v<Value>) {
    for (const std::string_view name : choice_names<Value>())
      if (!name.empty()) shown.choices.emplace_back(name);
  }
  made.value = [where](const Request& r) {
    const Member* member = where(r);
    if (member == nullptr) return nothing();
    const auto tell = [](const Value& value) {
      if constexpr (std::is_enum_v<Value>) return told(name_of(value));
      else return told(value);
    };
    if constexpr (Stored<Member>::optional) return *member ? tell(**member) : nothing();
    else return tell(*member);
  };
  made.shown = completed(std::move(shown), made);
  made.set = [where, needs, setting = made.shown](Request& r, const std::string& text) {
    Member* member = where(r);
    if (member == nullptr) fail<UsageError>("acts with {} only", needs);
    if constexpr (form_of<Value>() == Form::options) {
      const auto [name, value] = parse_named(text);
      if (!member->emplace(name, read<typename Value::mapped_type>(value, setting)).second) fail<UsageError>("{} is given twice", name);
    } else if constexpr (std::is_enum_v<Value>) {
      *member = choice_named<Value>(check_word(text, setting.choices));
    } else {
      *member = read<Value>(text, setting);
    }
  };
  return made;
}

}  // namespace hearth::api
