// The list of commands, and the help of all commands.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/command.h"
#include "cli/help.h"
#include "hearth/hearth.h"

namespace hearth::cli {

namespace {

constexpr std::array commands{&generate, &rerun,   &samplers, &complete,  &chat,  &perplexity, &tokenize, &detokenize, &pull,
                              &inspect,  &convert, &quantize, &calibrate, &serve, &list,       &bench,    &completion, &man};

}  // namespace

std::span<const Command* const> all_commands() { return commands; }

std::vector<const Command*> listed_commands() {
  std::vector<const Command*> listed;
  std::ranges::copy_if(commands, std::back_inserter(listed), [](const Command* c) { return !c->section.empty(); });
  return listed;
}

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  return found == commands.end() ? nullptr : *found;
}

void visit_flags(const Command& command, const std::function<void(const Flags&)>& visit) {
  Flags::visitor = visit;
  command.run({});
  Flags::visitor = {};
}

std::string overview() {
  const Terminal terminal = Terminal::of_stdout();
  std::string text = "hearth generates images and text with open-weight models, on your own machine.\n\n" + heading("Usage", terminal) +
                     "  hearth COMMAND [FLAGS]\n";
  std::string_view section;
  for (const Command* command : listed_commands()) {
    if (command->section != section) text += '\n' + heading(section = command->section, terminal);
    text += fmt::format("  {:<11} {}\n", command->name, wrap(command->summary, terminal.columns - 14, 14));
  }
  text += '\n' + heading("Examples", terminal);
  for (const Command* command : listed_commands())
    visit_flags(*command, [&](const Flags& flags) {
      text += examples_text(std::vector<Example>{{flags.examples().at(0).command, ""}}, terminal);
    });
  return text +
         "\nhearth COMMAND --help shows the common flags of a command, --help-all all flags.\nhearth --version prints the version.\n";
}

std::string first_steps() {
  return fmt::format(
      "hearth {} generates images and text with open-weight models, on your own machine.\n"
      "Try hearth generate -p \"a red house at sunset\" with the built-in demo model, or hearth --help.\n",
      version());
}

}  // namespace hearth::cli
