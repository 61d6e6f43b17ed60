// The settings of a request for images, one row each: what a setting is called, how it is read, how it is told. Flags and their help, the
// report's `request`, metadata, A1111's parameters and `hearth rerun` walk these rows, and nothing else lists the settings.
//
// The order of the rows is that of reports, and that in which they are set. What all families share is in table.cpp; the options of
// families (models/option.h) stand among them, each once.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/rerun.h"
#include "hearth/settings.h"

namespace hearth::api {

using Json = nlohmann::ordered_json;
struct Row;

// What a value is as JSON, and as it is typed.
enum class Form {
  text,
  whole,    // a whole number
  number,   // any finite number
  toggle,   // true or false; a flag without a value
  list,     // [0.3, 5.4]; 0.3,5.4
  size,     // [1024, 768]; 1024x768
  options,  // {"eta": "0.5", "order": "2"}; eta=0.5 and order=2, one after the other
  names,    // ["a", "b"]; a and b, one after the other
};

// Where the request part of a report has a value: under its name; in the object that metadata keeps it in, where it was given; as text
// among the `flags`, by its flag and where it is not the unsaid one; or both under its name and there.
enum class Report { by_name, in_object, among_flags, both };

// When metadata has a value.
enum class Keep {
  never,   // unless it is among the flags
  always,  // whatever it is
  given,   // where it is not the unsaid one
  beside,  // the same, and where another one is kept in its object
};

struct Telling {
  Report report = Report::by_name;
  Keep keep = Keep::never;
  std::string_view object = {};                    // of metadata, which it is kept in
  std::string_view key = {};                       // there; empty: the setting's name
  int late = 0;                                    // metadata has those of a larger number behind the others
  std::function<Json(const Request&)> kept = {};   // what metadata keeps, where that is not the value of reports
  std::optional<std::vector<std::string>> unsaid;  // the value, as typed, that need not be said; absent: that of Request{}, of what is
                                                   // always kept none
  std::optional<std::string_view> earlier = {};    // what it was before metadata had it; "": no matter. Absent: metadata must have it
  std::function<bool(const Request&)> left_open;   // where reports and metadata list it among their `defaults`
  std::string_view a1111 = {};                     // its name among A1111's parameters
  std::function<std::string(const Request&)> a1111_value = {};  // there; "": it is not said. Absent: the value as it is typed
  // Asks for a kept value once more; absent: by its flag, unless it is the unsaid one.
  std::function<void(const Row&, const Json& kept, const Json& recipe, Rerun&)> again = {};
};

struct Row {
  Setting shown;
  Form form = Form::text;
  std::function<void(Request&, const std::string&)> set;                  // UsageError, which need not name the setting
  std::function<Json(const Request&)> value;                              // null where there is none
  std::function<const std::optional<Image>&(const Request&)> image = {};  // of a setting that names an image's file: the image
  Telling told = {};
  bool own = false;  // a family's option: given is what was asked for, not what was used
};

const std::vector<Row>& rows();
// UsageError with the nearest name for an unknown one.
const Row& row_of(std::string_view name);

// "--cfg-scale,--guidance" → "cfg-scale".
std::string flag_of(const Setting& setting);
// A value as it is typed: nothing for null and an empty object, a switch that is on "".
std::vector<std::string> typed(const Row& row, const Json& value);
bool is_unsaid(const Row& row, const Json& value);

// The texts that a request gives to text encoders.
std::vector<std::string> prompts_of(const Request& request);

}  // namespace hearth::api
