// The flags of one command: one table for parsing arguments, help, shell completion and man pages.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/values.h"

namespace hearth::cli {

struct IntegerRange {
  int64_t low = 1, high = std::numeric_limits<int64_t>::max();
};

// One flag or positional argument. The functions return the flag, so that they can be chained.
struct Flag {
  std::vector<std::string> names;    // as help shows them: "-W", "--width"; a positional argument has one without dashes
  std::vector<std::string> aliases;  // accepted but not shown: earlier names, and those of other programs
  std::string value;                 // placeholder of the value: "N", "FILE"; empty: the flag takes none
  std::string help, default_text, group;
  std::vector<std::string> choices;  // values that completion offers; without any it offers files for "FILE", "PATH" and "DIR"
  bool repeatable = false, basic = false;
  std::function<void(const std::vector<std::string>&)> set;  // receives the values of all occurrences of the flag

  bool positional() const { return names[0][0] != '-'; }
  bool takes_value() const { return !value.empty(); }
  const std::string& long_name() const;  // "--width"; of a positional argument its name

  Flag& also(const std::string& spellings);  // "--ctx,-c": further aliases
  Flag& in_basic_help();                     // --help shows it; the others need --help-all
  Flag& completes(std::vector<std::string> values);
};

struct Example {
  std::string command, comment;
};

class Flags {
 public:
  // `summary` describes the command in a sentence or two, `notes` gives the details.
  Flags(std::string_view command, std::string_view summary, std::string_view notes = "");
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  // `names` as in "-W,--width" (or "path" for a positional argument); `type` as in "N"; `shown_default` in words, "required" if the
  // command needs the flag. `set` may throw UsageError, to which the flag's name is added. A flag may be given once.
  Flag& add(const std::string& names, const std::string& type, const std::string& help, const std::string& shown_default,
            std::function<void(const std::string&)> set);
  // May be given several times, and the help says so; `set` takes each value, in the order of the command line.
  Flag& add_each(const std::string& names, const std::string& type, const std::string& help, const std::string& shown_default,
                 std::function<void(const std::string&)> set);
  Flag& list(const std::string& names, const std::string& type, const std::string& help, std::vector<std::string>& values,
             const std::string& unset = "") {
    return add_each(names, type, help, unset, [&values](const std::string& t) { values.push_back(t); });
  }
  // Takes no value.
  Flag& toggle(const std::string& names, const std::string& help, bool& value) {
    return toggle(names, help, [&value] { value = true; });
  }
  Flag& toggle(const std::string& names, const std::string& help, std::function<void()> set);

  // The heading in the help of the flags that are added from now on.
  void group(const std::string& heading) { heading_ = heading; }

  // `unset`: the default in words, if it is not the variable's value: "the checkpoint's own".
  Flag& text(const std::string& names, const std::string& type, const std::string& help, std::string& value,
             const std::string& unset = "") {
    return add(names, type, help, value.empty() ? unset : value, [&value](const std::string& t) { value = t; });
  }
  Flag& text(const std::string& names, const std::string& type, const std::string& help, std::optional<std::string>& value,
             const std::string& unset) {
    return add(names, type, help, unset, [&value](const std::string& t) { value = t; });
  }
  // The path of a checkpoint. An empty path, as from an unset shell variable, is an error.
  Flag& path(const std::string& names, const std::string& help, std::string& value, const std::string& unset);
  template <class T> Flag& integer(const std::string& names, const std::string& help, T& value, IntegerRange range = {}) {
    return add(names, "N", help, fmt::format("{}", value),
               [&value, range](const std::string& t) { value = T(parse_integer(t, range.low, range.high)); });
  }
  Flag& integer(const std::string& names, const std::string& help, std::optional<int64_t>& value, const std::string& unset,
                IntegerRange range = {}) {
    return add(names, "N", help, unset, [&value, range](const std::string& t) { value = parse_integer(t, range.low, range.high); });
  }
  Flag& number(const std::string& names, const std::string& help, double& value) {
    return add(names, "X", help, fmt::format("{}", value), [&value](const std::string& t) { value = parse_number(t); });
  }
  Flag& number(const std::string& names, const std::string& help, std::optional<double>& value, const std::string& unset) {
    return add(names, "X", help, unset, [&value](const std::string& t) { value = parse_number(t); });
  }
  // One of the names; the help lists them unless `type` is given.
  struct Choice {
    std::vector<std::string> names;
  };
  Flag& choice(const std::string& names, const std::string& type, const std::string& help, std::string& value, Choice choice,
               const std::string& unset = "");

  // A complete, valid command line, and its description.
  void example(const std::string& command, const std::string& comment) { examples_.push_back({command, comment}); }

  // False if --help or --help-all was given and printed. UsageError for an unknown flag (with the nearest one), a
  // missing or a repeated value. Values are set in the order in which the flags were added.
  bool parse(std::span<const std::string> arguments);

  bool has(const std::string& spelling) const { return find(spelling) != nullptr; }
  bool given(const std::string& name) const;                    // after parse(); "--width"
  std::string long_name_of(const std::string& spelling) const;  // "-W" → "--width"; unknown flags are returned unchanged

  const std::string& command() const { return command_; }
  const std::string& summary() const { return summary_; }
  const std::string& notes() const { return notes_; }
  const std::vector<Example>& examples() const { return examples_; }
  const std::deque<Flag>& all() const { return flags_; }
  // In the order of the help: heading → its flags.
  std::vector<std::pair<std::string, std::vector<const Flag*>>> groups() const;

  // While it is set, parse() passes the Flags to it, parses nothing and returns false, so that the flags of a command can be listed without
  // running it (visit_flags in command.h).
  static std::function<void(const Flags&)> visitor;

 private:
  Flag& insert(Flag flag);
  const Flag* find(std::string_view spelling) const;
  std::vector<std::string> spellings() const;  // that are shown
  struct Given;
  Given read(std::span<const std::string> arguments) const;
  void set(const Given& given) const;

  std::string command_, summary_, notes_, heading_ = "Options";
  std::deque<Flag> flags_;
  std::vector<Example> examples_;
  std::vector<const Flag*> given_;
  bool help_ = false, help_all_ = false;
};

}  // namespace hearth::cli
