// The settings of a Request as data, for user interfaces: flags and their help, forms, schemas.
//
//   for (const hearth::Setting& s : hearth::list_settings()) show(s.name, s.type, s.help, s.default_text);
//   hearth::Request request;
//   hearth::set(request, "guidance", "4.5");
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/hearth.h"

namespace hearth {

struct Setting {
  std::string name;                  // "guidance": for set(), and in reports
  std::string flags;                 // of the command: "-W,--width"
  std::vector<std::string> aliases;  // flags that the command also accepts but does not show: "--guidance-scale"
  std::string type;                  // placeholder of the value: "N", "X", "TEXT", "WxH", "stretch|crop|fill"; empty: a switch
  std::string help;                  // what it does and when to use it
  std::string default_text;          // the default, in words; "required" if there is none
  std::string group;                 // its heading: "Prompt", or the title of a model family
  // Valid values: numbers in this range, or one of `choices` if not empty.
  double minimum = -std::numeric_limits<double>::infinity(), maximum = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;
  bool repeatable = false;            // each value is added to those before
  bool basic = false;                 // commonly used
  std::vector<std::string> families;  // model families that support it; empty: all image models
};

// In the order in which they must be set: some depend on an earlier one.
std::vector<Setting> list_settings();

// Parses and sets a value as the command does; a switch accepts "", "true" and "false". UsageError for an invalid value or an unknown name;
// the errors of Image::load if the value is an image file.
void set(Request& request, std::string_view name, const std::string& value);

// "FILE[:SCALE][:text=SCALE][:PATTERN=FACTOR]…", as --lora takes it, and back. UsageError.
Lora parse_lora(const std::string& text);
std::string text_of(const Lora& lora);

}  // namespace hearth
