// A flag for each setting of a request for images (hearth/settings.h).
#pragma once

#include <string>
#include <string_view>

#include "cli/flags.h"
#include "hearth/settings.h"

namespace hearth::cli {

// All of them, each under the heading of its group.
void add_settings(Flags& flags, Request& request);

// One of them, for a verb that has few: with its own words where they are given.
struct SettingWords {
  std::string help, standard;
};
void add_setting(Flags& flags, Request& request, std::string_view name, const SettingWords& words = {});

}  // namespace hearth::cli
