// The settings of an image request, one row each: its name, how it is parsed and how it is reported. Flags and their help, the report's
// `request`, metadata, A1111's parameters and `hearth rerun` walk these rows; nothing else lists the settings.
//
// Reports list the settings in the order of the rows, and requests are set in it. table.cpp has the settings of all image models; the
// options of model families (models/option.h) are listed among them, each once.
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

// The form of a value, in JSON and as typed.
enum class Form {
  text,
  whole,    // a whole number
  number,   // any finite number
  toggle,   // true or false; a flag without a value
  list,     // [0.3, 5.4]; 0.3,5.4
  size,     // [1024, 768]; 1024x768
  options,  // {"eta": "0.5", "order": "2"}; eta=0.5 and order=2, one after the other
  names,    // ["a", "b"]; a and b, one after the other
  files,    // the same, of files; metadata have {"file": "a", "sha256": "…"} for each
};

// Where the request part of a report has a value.
enum class Report {
  by_name,      // under the setting's name
  in_object,    // in the object that metadata stores it in, if it was given
  among_flags,  // in "flags" as text, under its flag, unless it is the omitted value
  both,         // by_name and among_flags
};

// When metadata stores a value.
enum class Keep {
  never,   // unless it is among the flags
  always,  // any value
  given,   // unless it is the omitted value
  beside,  // the same, and also if another setting of its object is stored
};

struct Reporting {
  Report report = Report::by_name;
  Keep keep = Keep::never;
  std::string_view object = {};                                 // the object of metadata that holds it; empty: none
  std::string_view key = {};                                    // its key there; empty: the setting's name
  int order = 0;                                                // metadata sorts settings by this number, then by row
  std::function<Json(const Request&)> metadata_value = {};      // what metadata stores, if that is not the value of reports
  std::optional<std::vector<std::string>> omitted_value;        // the value, as typed, that is left out; absent: that of Request{}, and no
                                                                // value for settings that are always stored
  std::optional<std::string_view> value_if_missing = {};        // the value of metadata without this key; "": none; absent: it is required
  std::function<bool(const Request&)> is_default;               // whether `defaults` of reports and metadata names it
  std::string_view a1111 = {};                                  // its name among A1111's parameters
  std::function<std::string(const Request&)> a1111_value = {};  // its text there; "": left out; absent: the value as typed
  // Adds the arguments of `hearth rerun` that set a stored value; absent: its flag, unless the value is the omitted one.
  std::function<void(const Row&, const Json& stored, const Json& recipe, Rerun&)> rerun = {};
};

struct Row {
  Setting setting;
  Form form = Form::text;
  std::function<void(Request&, const std::string&)> set;                  // UsageError, which need not name the setting
  std::function<Json(const Request&)> value;                              // null: the request has none
  std::function<const std::optional<Image>&(const Request&)> image = {};  // of a setting that names an image file: the image
  Reporting reporting = {};
  // An option of model families, or files: it counts as given if the caller's request has it, not the resolved one.
  bool of_caller = false;
};

const std::vector<Row>& rows();
// UsageError for an unknown name, with the nearest one.
const Row& row_of(std::string_view name);

// "--cfg-scale,--guidance" → "cfg-scale".
std::string flag_of(const Setting& setting);
// A value as typed: no text for null and an empty object, "" for a switch that is on.
std::vector<std::string> typed(const Row& row, const Json& value);
bool is_omitted(const Row& row, const Json& value);

// The prompts of a request: all texts for text encoders.
std::vector<std::string> prompts_of(const Request& request);

}  // namespace hearth::api
