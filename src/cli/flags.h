// The flags of one verb: one table that parses, checks and prints the help. The default shown is the value that the variable
// had when the flag was added, so help and behaviour cannot disagree.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/values.h"
#include "hearth/choices.h"

namespace hearth::cli {

struct IntegerRange {
  int64_t low = 1, high = std::numeric_limits<int64_t>::max();
};

class Flags {
 public:
  // The texts of the help: `summary` above the flags, `notes` below.
  Flags(std::string_view verb, std::string_view summary, std::string_view notes = "");
  ~Flags();
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  // `names` as in "-W,--width" (or "path" for a positional argument); `type` as in "N"; `set` may throw UsageError, to which the
  // flag's name is added. A flag may be given once.
  void add(const std::string& names, const std::string& type, const std::string& help, const std::string& shown_default,
           std::function<void(const std::string&)> set);
  // May be given several times, and the help says so; `set` takes each value, in the order of the command line.
  void add_each(const std::string& names, const std::string& type, const std::string& help, const std::string& shown_default,
                std::function<void(const std::string&)> set);
  void list(const std::string& names, const std::string& type, const std::string& help, std::vector<std::string>& values,
            const std::string& unset = "") {
    add_each(names, type, help, unset, [&values](const std::string& t) { values.push_back(t); });
  }
  void toggle(const std::string& names, const std::string& help, bool& value);  // takes no value

  // `unset` says what happens without the flag, where the variable alone does not: "the checkpoint's own".
  void text(const std::string& names, const std::string& type, const std::string& help, std::string& value, const std::string& unset = "") {
    add(names, type, help, value.empty() ? unset : value, [&value](const std::string& t) { value = t; });
  }
  void text(const std::string& names, const std::string& type, const std::string& help, std::optional<std::string>& value,
            const std::string& unset) {
    add(names, type, help, unset, [&value](const std::string& t) { value = t; });
  }
  // Of a checkpoint. An empty path, as of a variable that the shell does not know, is not taken for none.
  void path(const std::string& names, const std::string& help, std::string& value, const std::string& unset);
  template <class T> void integer(const std::string& names, const std::string& help, T& value, IntegerRange range = {}) {
    add(names, "N", help, fmt::format("{}", value),
        [&value, range](const std::string& t) { value = T(parse_integer(t, range.low, range.high)); });
  }
  void integer(const std::string& names, const std::string& help, std::optional<int64_t>& value, const std::string& unset,
               IntegerRange range = {}) {
    add(names, "N", help, unset, [&value, range](const std::string& t) { value = parse_integer(t, range.low, range.high); });
  }
  void number(const std::string& names, const std::string& help, double& value) {
    add(names, "X", help, fmt::format("{}", value), [&value](const std::string& t) { value = parse_number(t); });
  }
  void number(const std::string& names, const std::string& help, std::optional<double>& value, const std::string& unset) {
    add(names, "X", help, unset, [&value](const std::string& t) { value = parse_number(t); });
  }
  // One of the names or aliases; the help lists the names unless `type` stands in their place.
  struct Choice {
    std::vector<std::string> names, aliases = {};
    bool any_spelling = false;  // case, spaces, underscores and hyphens do not matter, "++" is "pp"
  };
  void choice(const std::string& names, const std::string& type, const std::string& help, std::string& value, Choice choice,
              const std::string& unset = "");
  // Of a choice among the values of a type (hearth/choices.h); the help lists their names.
  template <class Value>
  void choice(const std::string& names, const std::string& help, std::optional<Value>& value, const std::string& unset) {
    Choice choice;
    for (const std::string_view name : choice_names<Value>())
      if (!name.empty()) choice.names.emplace_back(name);
    add_choice(names, "", help, std::move(choice), unset, [&value](const std::string& t) { value = choice_named<Value>(t); });
  }

  // False when --help was asked for and printed. UsageError for an unknown flag (with the one that was probably meant), a
  // missing or a repeated value.
  bool parse(std::span<const std::string> arguments);

  std::string help() const;

 private:
  // `take` gets the values of all times that the flag was given.
  void add_option(const std::string& names, const std::string& type, const std::string& help, const std::string& shown_default,
                  std::function<void(const std::vector<std::string>&)> take);
  void add_choice(const std::string& names, const std::string& type, const std::string& help, Choice choice,
                  const std::string& shown_default, std::function<void(const std::string&)> set);

  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace hearth::cli
