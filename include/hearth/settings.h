// The settings of a Request as data, for whoever offers them to people: flags and their help, forms, schemas.
//
//   for (const hearth::Setting& s : hearth::list_settings()) show(s.name, s.type, s.help, s.standard);
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
  std::string name;      // "guidance": of set(), and in reports
  std::string flags;     // as the command spells it: "--cfg-scale,--guidance"
  std::string type;      // what a value looks like: "N", "X", "TEXT", "WxH", "stretch|crop|fill"; empty: a switch
  std::string help;      // one line
  std::string standard;  // what holds where it is not given, in words
  std::string group;     // settings of one group belong together: "Prompt"
  // What a value may be: a number between these two, or one of the choices where there are any.
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;
  bool repeatable = false;            // each value is added to those before
  std::vector<std::string> families;  // of models that have it; empty: all that draw images have
};

// In the order in which they are to be set: some act on one before them.
std::vector<Setting> list_settings();

// Reads the value of a setting as the command does; a switch is set by "", "true" and "false". UsageError for a value that cannot be, or a
// name that is unknown; errors of Image::load where the value is an image's file.
void set(Request& request, std::string_view name, const std::string& value);

}  // namespace hearth
