#include "cli/setting_flags.h"

#include <algorithm>

#include "core/error.h"

namespace hearth::cli {
namespace {

void add(Flags& flags, Request& request, const Setting& s) {
  const auto take = [&request, name = s.name](const std::string& text) { set(request, name, text); };
  Flag& flag = s.type.empty() ? flags.toggle(s.flags, s.help, [take] { take(""); })
               : s.repeatable ? flags.add_each(s.flags, s.type, s.help, s.default_text, take)
                              : flags.add(s.flags, s.type, s.help, s.default_text, take);
  flag.completes(s.choices);
  if (s.basic) flag.in_basic_help();
  for (const std::string& alias : s.aliases) flag.also(alias);
}

}  // namespace

void add_settings(Flags& flags, Request& request) {
  for (const Setting& s : list_settings()) {
    flags.group(s.group);
    add(flags, request, s);
  }
}

void add_setting(Flags& flags, Request& request, std::string_view name, const SettingTexts& texts) {
  const std::vector<Setting> all = list_settings();
  const auto found = std::ranges::find(all, name, &Setting::name);
  if (found == all.end()) fail<UsageError>("unknown setting '{}'", name);
  Setting s = *found;
  if (!texts.help.empty()) s.help = texts.help;
  if (!texts.default_text.empty()) s.default_text = texts.default_text;
  add(flags, request, s);
}

}  // namespace hearth::cli
