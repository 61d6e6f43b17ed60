// How the members of a Request are parsed and reported, by their types; table.cpp makes the rows of settings with it. Include
// <nlohmann/json.hpp> before this.
#pragma once

#include <array>
#include <map>
#include <type_traits>

#include "api/settings/setting.h"
#include "core/error.h"
#include "core/text/values.h"

namespace hearth::api {

Json no_value();
Json json_of(bool value);
Json json_of(int64_t value);
Json json_of(uint64_t value);
Json json_of(double value);
Json json_of(std::string_view value);
Json json_of(const std::array<int64_t, 2>& value);
Json json_of(const std::array<int64_t, 4>& value);
Json json_of(const std::array<double, 2>& value);
Json json_of(const std::vector<double>& value);
Json json_of(const std::map<std::string, std::string>& value);
Json json_of(const std::map<std::string, double>& value);

// Parses a value. UsageError.
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

// Finds a member: a function of the request, const or not → a pointer to it; null if the part that it belongs to is absent.
template <class T> auto at(T Request::*member) {
  return [=](auto& r) { return &(r.*member); };
}
template <class Part, class T> auto at(Part Request::*part, T Part::*member) {
  return [=](auto& r) { return &(r.*part.*member); };
}
template <class Part, class T> auto at(std::optional<Part> Request::*part, T Part::*member) {
  return [=](auto& r) { return r.*part ? &(*(r.*part).*member) : nullptr; };
}

// Fills in what `setting` leaves open, from the member: type, choices, the default in words.
Setting completed(Setting setting, const Row& row);

// A row for the member that `where` finds (see at()). `needs`: the flag that creates the part that it belongs to.
template <class Where> Row row(Setting setting, Where where, Reporting reporting = {}, std::string_view needs = {}) {
  using Member = std::remove_pointer_t<decltype(where(std::declval<Request&>()))>;
  using Value = typename Stored<Member>::Value;
  Row made{.form = form_of<Value>(), .reporting = std::move(reporting)};
  if constexpr (std::is_enum_v<Value>) {
    for (const std::string_view name : choice_names<Value>())
      if (!name.empty()) setting.choices.emplace_back(name);
  }
  made.value = [where](const Request& r) {
    const Member* member = where(r);
    if (member == nullptr) return no_value();
    const auto json = [](const Value& value) {
      if constexpr (std::is_enum_v<Value>) return json_of(name_of(value));
      else return json_of(value);
    };
    if constexpr (Stored<Member>::optional) return *member ? json(**member) : no_value();
    else return json(*member);
  };
  made.setting = completed(std::move(setting), made);
  made.set = [where, needs, shown = made.setting](Request& r, const std::string& text) {
    Member* member = where(r);
    if (member == nullptr) fail<UsageError>("has no effect without {}", needs);
    if constexpr (form_of<Value>() == Form::options) {
      const auto [name, value] = parse_named(text);
      if (!member->emplace(name, read<typename Value::mapped_type>(value, shown)).second) fail<UsageError>("{} was given twice", name);
    } else if constexpr (std::is_enum_v<Value>) {
      *member = choice_named<Value>(check_word(text, shown.choices));
    } else {
      *member = read<Value>(text, shown);
    }
  };
  return made;
}

}  // namespace hearth::api
