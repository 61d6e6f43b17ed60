#include "cli/flags.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/suggest.h"
#include "core/error.h"
#include "sampling/names.h"

namespace hearth::cli {

struct Flags::Parser {
  CLI::App app;

  // Every spelling that stands for a flag: "--width", "-W".
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) all.push_back("--" + name);
      for (const std::string& name : option->get_snames()) all.push_back("-" + name);
    }
    return all;
  }

  // The arguments for CLI11, which takes an empty value in --prompt= for none, a flag for the value of the one before it, and
  // -prompt for -p rompt: the first is rewritten as two arguments, the others are refused.
  std::vector<std::string> prepared(std::span<const std::string> arguments) const {
    const std::vector<std::string> all = names();
    const auto knows = [&](const std::string& word) { return std::find(all.begin(), all.end(), word) != all.end(); };
    std::vector<std::string> out;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string& word = arguments[i];
      if (word == "--") {
        out.insert(out.end(), arguments.begin() + ptrdiff_t(i), arguments.end());
        break;
      }
      const size_t equals = std::min(word.find('='), word.size());
      const std::string flag = word.substr(0, equals);
      if (word[0] == '-' && knows('-' + flag)) fail<UsageError>("{}: unknown flag; did you mean -{}?", flag, flag);
      const CLI::Option* option = knows(flag) ? app.get_option_no_throw(flag) : nullptr;
      const bool takes_value = option != nullptr && option->get_items_expected_max() > 0;
      if (!takes_value) {
        out.push_back(word);
        continue;
      }
      out.push_back(flag);
      if (equals < word.size()) {
        out.push_back(word.substr(equals + 1));
        continue;
      }
      if (++i == arguments.size()) fail<UsageError>("{}: needs a value", flag);
      if (knows(arguments[i])) fail<UsageError>("{}: needs a value, got the flag {}", flag, arguments[i]);
      out.push_back(arguments[i]);
    }
    return out;
  }
};

namespace {

// "-W,--width" → "--width"; a positional's name stays.
std::string long_name(const std::string& names) {
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    if (names.compare(begin, 2, "--") == 0) return names.substr(begin, end - begin);
    begin = end + 1;
  }
  return names;
}

constexpr size_t help_columns = 110, name_columns = 38;

// Breaks lines at spaces so that each fits, where it can, into `columns`.
std::string wrap(std::string_view text, size_t columns) {
  std::string out;
  size_t length = 0;  // of the line so far
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    if (length > 0 && length + 1 + (end - begin) > columns) out += '\n', length = 0;
    else if (length > 0) out += ' ', ++length;
    out += text.substr(begin, end - begin);
    length += end - begin;
    if (end < text.size() && text[end] == '\n') out += '\n', length = 0;
    begin = end + 1;
  }
  return out;
}

}  // namespace

Flags::Flags(std::string_view verb, std::string_view summary, std::string_view notes) : parser_(std::make_unique<Parser>()) {
  CLI::App& app = parser_->app;
  app.name("hearth " + std::string(verb));
  app.description(wrap(summary, help_columns));
  app.footer(wrap(notes, help_columns));
  app.allow_extras();  // reported by us, with a suggestion
  app.set_help_flag("-h,--help", "This text");
  app.get_formatter()->column_width(name_columns);
  app.get_formatter()->label("OPTIONS", "FLAGS");
}

Flags::~Flags() = default;

void Flags::path(const std::string& names, const std::string& help, std::string& value, const std::string& unset) {
  add(names, "PATH", help, unset, [&value](const std::string& t) {
    if (t.empty()) fail<UsageError>("the path is empty");
    value = t;
  });
}

void Flags::add(const std::string& names, const std::string& type, const std::string& help, const std::string& shown_default,
                std::function<void(const std::string&)> set) {
  add_option(names, type, help, shown_default, [set = std::move(set)](const std::vector<std::string>& values) {
    if (values.size() != 1) fail<UsageError>("given {} times, needed once", values.size());
    set(values[0]);
  });
}

void Flags::add_each(const std::string& names, const std::string& type, const std::string& help, const std::string& shown_default,
                     std::function<void(const std::string&)> set) {
  add_option(names, type, help + "; may be repeated", shown_default,
             [set = std::move(set)](const std::vector<std::string>& values) { std::ranges::for_each(values, set); });
}

void Flags::add_option(const std::string& names, const std::string& type, const std::string& help, const std::string& shown_default,
                       std::function<void(const std::vector<std::string>&)> take) {
  const auto named = [name = long_name(names), take = std::move(take)](const CLI::results_t& values) {
    try {
      take(values);
    } catch (const UsageError& e) { fail<UsageError>("{}: {}", name, e.what()); }
    return true;
  };
  const std::string text = shown_default.empty() ? help : fmt::format("{} (default: {})", help, shown_default);
  CLI::Option* option = parser_->app.add_option(names, named, wrap(text, help_columns - name_columns));
  option->type_name(type)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
}

void Flags::toggle(const std::string& names, const std::string& help, bool& value) {
  parser_->app.add_flag(names, value, wrap(help, help_columns - name_columns));
}

void Flags::choice(const std::string& names, const std::string& type, const std::string& help, std::string& value, Choice choice,
                   const std::string& unset) {
  add_choice(names, type, help, std::move(choice), value.empty() ? unset : value, [&value](const std::string& t) { value = t; });
}

void Flags::add_choice(const std::string& names, const std::string& type, const std::string& help, Choice choice,
                       const std::string& shown_default, std::function<void(const std::string&)> set) {
  const std::string listed = fmt::format("{}", fmt::join(choice.names, "|"));
  add(names, type.empty() ? listed : type, help, shown_default, [choice = std::move(choice), set = std::move(set)](const std::string& t) {
    const auto meant = [&](const std::string& name) {
      return choice.any_spelling ? sampling::folded(name) == sampling::folded(t) : name == t;
    };
    if (std::ranges::any_of(choice.names, meant) || std::ranges::any_of(choice.aliases, meant)) {
      set(t);
      return;
    }
    const std::string listed_names = fmt::format("{}", fmt::join(choice.names, ", "));
    std::vector<std::string> all = choice.names;
    all.insert(all.end(), choice.aliases.begin(), choice.aliases.end());
    fail<UsageError>("'{}' is unknown, needed one of {}{}", t, listed_names, did_you_mean(t, all));
  });
}

std::string Flags::help() const {
  std::string text = parser_->app.help();
  if (text.empty() || text.back() != '\n') text += '\n';
  return text;
}

bool Flags::parse(std::span<const std::string> arguments) {
  CLI::App& app = parser_->app;
  std::vector<std::string> words = parser_->prepared(arguments);
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", help());
    return false;
  } catch (const CLI::ParseError& e) { fail<UsageError>("{}", e.what()); }
  std::vector<std::string> unknown = app.remaining();
  std::erase(unknown, "--");  // CLI11 keeps it
  for (const std::string& word : unknown)
    if (word.size() > 1 && word[0] == '-') {
      const std::string flag = word.substr(0, word.find('='));
      fail<UsageError>("{}: unknown flag{}", flag, flag.size() > 2 ? did_you_mean(flag, parser_->names()) : "");
    }
  if (!unknown.empty()) fail<UsageError>("'{}': unexpected argument (see {} --help)", unknown[0], app.get_name());
  return true;
}

}  // namespace hearth::cli
