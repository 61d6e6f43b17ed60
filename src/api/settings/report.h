// The request part of a report.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "api/settings/setting.h"

namespace hearth::api {

// A run's own finding, behind the setting that it belongs to.
struct Finding {
  std::string_view after, name;
  int64_t value = 0;
};

// Every setting as `told` has it, and `flags` as one object where the first of those stands that are told there.
Json told_settings(const Request& asked, const Request& told, const std::map<std::string, std::string>& flags, const Finding& finding);

}  // namespace hearth::api
