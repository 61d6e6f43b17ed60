// The request part of a report.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "api/settings/setting.h"

namespace hearth::api {

// A value that the run computed, listed after the setting that it belongs to.
struct ComputedValue {
  std::string_view after, name;
  int64_t value = 0;
};

// One key per setting, with the value that `used` has. Settings that are reported by their flags form one object, "flags", in the place of
// the first of them.
Json settings_json(const Request& requested, const Request& used, const std::map<std::string, std::string>& flags,
                   const ComputedValue& computed);

}  // namespace hearth::api
