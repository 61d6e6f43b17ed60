// The request part of a report.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "api/settings/setting.h"

namespace hearth::api {

// A value that the run computed, which stands after the setting that it belongs to.
struct Finding {
  std::string_view after, name;
  int64_t value = 0;
};

// One key for every setting, with the value that `told` has. The settings that are reported by their flags are one object, "flags", in the
// place of the first of them.
Json told_settings(const Request& asked, const Request& told, const std::map<std::string, std::string>& flags, const Finding& finding);

}  // namespace hearth::api
