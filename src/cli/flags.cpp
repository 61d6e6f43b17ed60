#include "cli/flags.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "cli/help.h"
#include "cli/log.h"
#include "core/error.h"
#include "core/text/suggest.h"

namespace hearth::cli {
namespace {

std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    parts.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool contains(const std::vector<std::string>& words, std::string_view word) { return std::ranges::find(words, word) != words.end(); }

// The order of groups in the help of every command. Other groups, those of model families, are listed at the empty name.
constexpr std::array<std::string_view, 14> group_order{"Arguments", "Model",    "Prompt",   "Chat",
                                                       "Image",     "Sampling", "Guidance", "Image-to-image",
                                                       "Adapters",  "",         "Options",  "Memory and performance",
                                                       "Output",    "Debugging"};

size_t rank_of(std::string_view group) {
  if (group == general_group) return group_order.size();
  const auto found = std::ranges::find(group_order, group);
  return size_t((found == group_order.end() ? std::ranges::find(group_order, "") : found) - group_order.begin());
}

}  // namespace

std::function<void(const Flags&)> Flags::visitor;

const std::string& Flag::long_name() const {
  const auto found = std::ranges::find_if(names, [](const std::string& name) { return name.starts_with("--"); });
  return found == names.end() ? names[0] : *found;
}

Flag& Flag::also(const std::string& spellings) {
  for (std::string& name : split(spellings)) aliases.push_back(std::move(name));
  return *this;
}

Flag& Flag::in_basic_help() {
  basic = true;
  return *this;
}

Flag& Flag::completes(std::vector<std::string> values) {
  choices = std::move(values);
  return *this;
}

Flags::Flags(std::string_view command, std::string_view summary, std::string_view notes)
    : command_(command), summary_(summary), notes_(notes) {
  const std::string options = std::exchange(heading_, std::string(general_group));
  toggle("-h,--help", "Print this help", [this] { help_ = true; }).in_basic_help();
  toggle("--help-all", "Print the help of all flags", [this] { help_all_ = true; }).in_basic_help();
  toggle("-v,--verbose", "Log more: the resolved settings, the memory plan, loading times", [] { set_verbosity(Verbosity::verbose); });
  toggle("-q,--quiet", "Print results and errors only: no progress, no warnings", [] { set_verbosity(Verbosity::quiet); });
  heading_ = options;
}

Flag& Flags::insert(Flag flag) {
  flag.group = flag.positional() ? "Arguments" : heading_;
  flag.basic = flag.positional();
  return flags_.emplace_back(std::move(flag));
}

Flag& Flags::path(const std::string& names, const std::string& help, std::string& value, const std::string& unset) {
  return add(names, "PATH", help, unset, [&value](const std::string& t) {
    if (t.empty()) fail<UsageError>("the path is empty");
    value = t;
  });
}

Flag& Flags::add(const std::string& names, const std::string& type, const std::string& help, const std::string& shown_default,
                 std::function<void(const std::string&)> set) {
  return insert({.names = split(names),
                 .value = type,
                 .help = help,
                 .default_text = shown_default,
                 .set = [set = std::move(set)](const std::vector<std::string>& values) {
                   if (values.size() != 1) fail<UsageError>("given {} times, expected once", values.size());
                   set(values[0]);
                 }});
}

Flag& Flags::add_each(const std::string& names, const std::string& type, const std::string& help, const std::string& shown_default,
                      std::function<void(const std::string&)> set) {
  return insert({.names = split(names),
                 .value = type,
                 .help = help,
                 .default_text = shown_default,
                 .repeatable = true,
                 .set = [set = std::move(set)](const std::vector<std::string>& values) { std::ranges::for_each(values, set); }});
}

Flag& Flags::toggle(const std::string& names, const std::string& help, std::function<void()> set) {
  return insert({.names = split(names), .help = help, .set = [set = std::move(set)](const std::vector<std::string>&) { set(); }});
}

Flag& Flags::choice(const std::string& names, const std::string& type, const std::string& help, std::string& value, Choice choice,
                    const std::string& unset) {
  const std::string listed = fmt::format("{}", fmt::join(choice.names, "|"));
  Flag& flag = add(names, type.empty() ? listed : type, help, value.empty() ? unset : value,
                   [&value, allowed = choice.names](const std::string& t) { value = check_word(t, allowed); });
  return flag.completes(std::move(choice.names));
}

const Flag* Flags::find(std::string_view spelling) const {
  const auto found = std::ranges::find_if(
      flags_, [&](const Flag& flag) { return !flag.positional() && (contains(flag.names, spelling) || contains(flag.aliases, spelling)); });
  return found == flags_.end() ? nullptr : &*found;
}

std::vector<std::string> Flags::spellings() const {
  std::vector<std::string> all;
  for (const Flag& flag : flags_)
    if (!flag.positional()) all.insert(all.end(), flag.names.begin(), flag.names.end());
  return all;
}

bool Flags::given(const std::string& name) const { return std::ranges::find(given_, find(name)) != given_.end(); }

std::string Flags::long_name_of(const std::string& spelling) const {
  const Flag* flag = find(spelling);
  return flag == nullptr ? spelling : flag->long_name();
}

std::vector<std::pair<std::string, std::vector<const Flag*>>> Flags::groups() const {
  std::vector<std::pair<std::string, std::vector<const Flag*>>> groups;
  for (const Flag& flag : flags_) {
    auto found = std::ranges::find(groups, flag.group, [](const auto& group) { return group.first; });
    if (found == groups.end()) found = groups.insert(groups.end(), {flag.group, {}});
    found->second.push_back(&flag);
  }
  std::ranges::stable_sort(groups, {}, [](const auto& group) { return rank_of(group.first); });
  return groups;
}

// The parsed command line.
struct Flags::Given {
  std::map<const Flag*, std::vector<std::string>> values;  // empty texts for toggles
  std::vector<std::string> unknown, positional;
};

Flags::Given Flags::read(std::span<const std::string> arguments) const {
  Given given;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") {
      given.positional.insert(given.positional.end(), arguments.begin() + ptrdiff_t(i) + 1, arguments.end());
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      given.positional.push_back(word);
      continue;
    }
    const size_t equals = std::min(word.find('='), word.size());
    std::string name = word.substr(0, equals);
    std::optional<std::string> value;
    if (equals < word.size()) value = word.substr(equals + 1);
    if (find('-' + name) != nullptr) fail<UsageError>("{}: unknown flag; did you mean -{}?", name, name);
    const Flag* flag = find(name);
    if (flag == nullptr && word[1] != '-') {  // -W512
      flag = find(word.substr(0, 2));
      if (flag != nullptr && !flag->takes_value()) flag = nullptr;
      if (flag != nullptr) name = word.substr(0, 2), value = word.substr(2);
    }
    if (flag == nullptr) {
      given.unknown.push_back(name);
      continue;
    }
    if (flag->takes_value() && !value) {
      if (++i == arguments.size()) fail<UsageError>("{}: the value is missing, expected {}", name, flag->value);
      value = arguments[i];
      if (find(*value) != nullptr) fail<UsageError>("{}: the value is missing, expected {}, got the flag {}", name, flag->value, *value);
    } else if (!flag->takes_value() && value) {
      fail<UsageError>("{}: takes no value, got '{}'", name, *value);
    }
    given.values[flag].push_back(value.value_or(""));
  }
  return given;
}

void Flags::set(const Given& given) const {
  size_t next = 0;  // positional argument
  for (const Flag& flag : flags_) {
    const auto found = given.values.find(&flag);
    std::vector<std::string> values = found == given.values.end() ? std::vector<std::string>() : found->second;
    if (flag.positional() && next < given.positional.size()) values = {given.positional[next++]};
    if (values.empty()) continue;
    try {
      flag.set(values);
    } catch (const UsageError& e) { fail<UsageError>("{}: {}", flag.long_name(), e.what()); }
  }
  if (!given.unknown.empty()) {
    const std::string& flag = given.unknown[0];
    fail<UsageError>("{}: unknown flag{} (see hearth {} --help-all)", flag, flag.size() > 2 ? did_you_mean(flag, spellings()) : "",
                     command_);
  }
  if (next < given.positional.size())
    fail<UsageError>("'{}': unexpected argument (see hearth {} --help)", given.positional[next], command_);
}

bool Flags::parse(std::span<const std::string> arguments) {
  if (visitor) {
    visitor(*this);
    return false;
  }
  const Given given = read(arguments);
  for (const auto& [flag, values] : given.values) given_.push_back(flag);
  if (this->given("--help") || this->given("--help-all")) {
    fmt::print("{}", help_text(*this, this->given("--help-all") ? HelpPart::all : HelpPart::basic, Terminal::of_stdout()));
    return false;
  }
  set(given);
  return true;
}

}  // namespace hearth::cli
