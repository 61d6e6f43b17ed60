// A flag for each setting of a request for images (hearth/settings.h).
#pragma once

#include <string>
#include <string_view>

#include "cli/flags.h"
#include "hearth/settings.h"

namespace hearth::cli {

// All of them, each under the heading of its group.
void add_settings(Flags& flags, Request& request);

// One of them, for a command that has few; `texts` replace its help and default.
struct SettingTexts {
  std::string help, default_text;
};
void add_setting(Flags& flags, Request& request, std::string_view name, const SettingTexts& texts = {});

}  // namespace hearth::cli
