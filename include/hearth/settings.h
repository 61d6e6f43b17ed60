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
  std::string flags;                 // how the command spells it: "-W,--width"
  std::vector<std::string> aliases;  // flags that the command accepts too, but does not show: "--guidance-scale"
  std::string type;                  // what a value looks like: "N", "X", "TEXT", "WxH", "stretch|crop|fill"; empty: a switch
  std::string help;                  // what it does and when to use it
  std::string default_text;          // the default, in words; "required" if there is none
  std::string group;                 // heading that it belongs under: "Prompt", or the title of a model family
  // The values it takes: numbers in this range, or one of the choices if there are any.
  double minimum = -std::numeric_limits<double>::infinity(), maximum = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;
  bool repeatable = false;            // each value is added to those before
  bool basic = false;                 // one of the few that most people set
  std::vector<std::string> families;  // model families that have it; empty: all image models
};

// In the order in which they must be set: some depend on one before them.
std::vector<Setting> list_settings();

// Parses and sets a value as the command does; a switch takes "", "true" and "false". UsageError for an invalid value or an unknown name;
// the errors of Image::load if the value is an image file.
void set(Request& request, std::string_view name, const std::string& value);

}  // namespace hearth
