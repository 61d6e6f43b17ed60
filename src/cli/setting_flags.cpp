#include "cli/setting_flags.h"

#include <algorithm>

#include "core/error.h"

namespace hearth::cli {
namespace {

void add(Flags& flags, Request& request, const Setting& s) {
  const auto take = [&request, name = s.name](const std::string& text) { set(request, name, text); };
  if (s.type.empty()) flags.toggle(s.flags, s.help, [take] { take(""); });
  else if (s.repeatable) flags.add_each(s.flags, s.type, s.help, s.standard, take);
  else flags.add(s.flags, s.type, s.help, s.standard, take);
}

}  // namespace

void add_settings(Flags& flags, Request& request) {
  for (const Setting& s : list_settings()) {
    flags.group(s.group);
    add(flags, request, s);
  }
}

void add_setting(Flags& flags, Request& request, std::string_view name, const SettingWords& words) {
  const std::vector<Setting> all = list_settings();
  const auto found = std::ranges::find(all, name, &Setting::name);
  if (found == all.end()) fail<UsageError>("setting '{}' is unknown", name);
  Setting s = *found;
  if (!words.help.empty()) s.help = words.help;
  if (!words.standard.empty()) s.standard = words.standard;
  add(flags, request, s);
}

}  // namespace hearth::cli
