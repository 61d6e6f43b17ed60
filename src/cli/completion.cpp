#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/flags.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

bool names_file(const Flag& flag) { return flag.value.ends_with("FILE") || flag.value.ends_with("PATH") || flag.value.ends_with("DIR"); }

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

// The first sentence or clause of the help, which fits next to a name.
std::string summary_of(const Flag& flag) {
  const size_t end = std::min({flag.help.find(". "), flag.help.find("; "), flag.help.find(": "), flag.help.size()});
  return flag.help.substr(0, end);
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size()) text.replace(at, what.size(), with);
  return text;
}

std::string command_names() {
  std::vector<std::string> names;
  for (const Command* command : listed_commands()) names.emplace_back(command->name);
  return joined(names);
}

void for_all_flags(const std::function<void(const Flags&, const Flag&)>& visit) {
  for (const Command* command : listed_commands())
    visit_flags(*command, [&](const Flags& flags) {
      for (const Flag& flag : flags.all()) visit(flags, flag);
    });
}

// The text of zsh's _arguments between brackets.
std::string bracketed(const std::string& text) { return replaced(replaced(replaced(text, "'", "'\\''"), "[", "\\["), "]", "\\]"); }

std::string zsh_action(const Flag& flag) {
  if (!flag.choices.empty()) return fmt::format(":{}:({})", flag.long_name(), joined(flag.choices));
  return fmt::format(":{}:{}", replaced(flag.long_name(), ":", "\\:"), names_file(flag) ? "_files" : " ");
}

}  // namespace

std::string bash_completion() {
  std::string flags_of, values_of, valued, words_of;
  for (const Command* command : listed_commands())
    visit_flags(*command, [&](const Flags& flags) {
      std::vector<std::string> names;
      for (const Flag& flag : flags.all()) {
        if (flag.positional()) {
          if (!flag.choices.empty()) words_of += fmt::format("    {}) echo '{}' ;;\n", command->name, joined(flag.choices));
          continue;
        }
        names.insert(names.end(), flag.names.begin(), flag.names.end());
        std::vector<std::string> patterns;
        for (const std::string& name : flag.names) patterns.push_back(fmt::format("'{} {}'", command->name, name));
        const std::string pattern = fmt::format("{}", fmt::join(patterns, "|"));
        if (!flag.choices.empty()) values_of += fmt::format("    {}) echo '{}' ;;\n", pattern, joined(flag.choices));
        else if (flag.takes_value()) valued += fmt::format("    {}) echo {} ;;\n", pattern, names_file(flag) ? "file" : "text");
      }
      flags_of += fmt::format("    {}) echo '{}' ;;\n", command->name, joined(names));
    });
  constexpr std::string_view script = R"sh(# bash completion of hearth, written by `hearth completion bash`
_hearth_flags() {
  case $1 in
@FLAGS@  esac
}
# The values of a flag that takes one of a few.
_hearth_choices() {
  case "$1 $2" in
@VALUES@  esac
}
# What another flag takes: file or text.
_hearth_kind() {
  case "$1 $2" in
@KINDS@  esac
}
# The words that a command takes without a flag.
_hearth_words() {
  case $1 in
@WORDS@  esac
}
_hearth() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then
      command=${COMP_WORDS[i]}
      break
    fi
  done
  if [[ -z $command ]]; then
    mapfile -t COMPREPLY < <(compgen -W '@COMMANDS@ --help --version' -- "$current")
    return
  fi
  local choices kind
  choices=$(_hearth_choices "$command" "$before")
  kind=$(_hearth_kind "$command" "$before")
  if [[ -n $choices ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
  elif [[ $kind == file ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
  elif [[ $kind == text ]]; then
    :
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_hearth_flags "$command")" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$(_hearth_words "$command")" -- "$current"; compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _hearth hearth
)sh";
  std::string text = replaced(std::string(script), "@FLAGS@", flags_of);
  text = replaced(replaced(replaced(text, "@VALUES@", values_of), "@KINDS@", valued), "@WORDS@", words_of);
  return replaced(text, "@COMMANDS@", command_names());
}

std::string zsh_completion() {
  std::string commands, cases;
  for (const Command* command : listed_commands()) {
    commands += fmt::format("    '{}:{}'\n", command->name, replaced(std::string(command->summary), "'", "'\\''"));
    cases += fmt::format("    {})\n      _arguments -s", command->name);
    visit_flags(*command, [&](const Flags& flags) {
      for (const Flag& flag : flags.all()) {
        if (flag.positional()) {
          cases += fmt::format(" \\\n        '{}'", zsh_action(flag));
          continue;
        }
        for (const std::string& name : flag.names)
          cases += fmt::format(" \\\n        '{}{}[{}]{}'", flag.repeatable ? "*" : "", name, bracketed(summary_of(flag)),
                               flag.takes_value() ? zsh_action(flag) : "");
      }
    });
    cases += "\n      ;;\n";
  }
  return fmt::format(R"sh(#compdef hearth
# zsh completion of hearth, written by `hearth completion zsh`
_hearth() {{
  local -a commands
  commands=(
{})
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [[ $funcstack[1] == _hearth ]]; then
  _hearth "$@"
else
  compdef _hearth hearth
fi
)sh",
                     commands, cases);
}

std::string fish_completion() {
  const auto quoted = [](const std::string& text) { return fmt::format("'{}'", replaced(replaced(text, "\\", "\\\\"), "'", "\\'")); };
  std::string text = "# fish completion of hearth, written by `hearth completion fish`\ncomplete -c hearth -n __fish_use_subcommand -f\n";
  for (const Command* command : listed_commands())
    text += fmt::format("complete -c hearth -n __fish_use_subcommand -a {} -d {}\n", command->name, quoted(std::string(command->summary)));
  for_all_flags([&](const Flags& flags, const Flag& flag) {
    text += fmt::format("complete -c hearth -n '__fish_seen_subcommand_from {}'", flags.command());
    if (flag.positional()) {
      text += flag.choices.empty() ? " -F\n" : fmt::format(" -a {}\n", quoted(joined(flag.choices)));
      return;
    }
    for (const std::string& name : flag.names) text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!flag.choices.empty()) text += fmt::format(" -x -a {}", quoted(joined(flag.choices)));
    else if (flag.takes_value()) text += names_file(flag) ? " -r -F" : " -x";
    text += fmt::format(" -d {}\n", quoted(summary_of(flag)));
  });
  return text;
}

namespace {

void run_completion(std::span<const std::string> arguments) {
  std::string shell;
  Flags flags("completion", "Print the completion script of a shell: it knows commands, flags and values, and completes files.",
              "The installed hearth has the three scripts in the folders where shells look for them. For one that is not installed, "
              "source the script in your shell's startup file.");
  flags.choice("shell", "SHELL", "The shell: bash, zsh or fish", shell, {.names = {"bash", "zsh", "fish"}}, "required");
  flags.example("hearth completion fish > ~/.config/fish/completions/hearth.fish", "Install for fish");
  flags.example("source <(hearth completion bash)", "Complete in this shell, from now on");
  if (!flags.parse(arguments)) return;
  if (shell.empty()) fail<UsageError>("completion: the shell is missing, expected bash, zsh or fish");
  fmt::print("{}", shell == "bash" ? bash_completion() : shell == "zsh" ? zsh_completion() : fish_completion());
}

}  // namespace

const Command completion = {"completion", "Print the completion script of bash, zsh or fish", run_completion, "Tools"};

}  // namespace hearth::cli
