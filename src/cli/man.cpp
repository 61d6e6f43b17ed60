// `hearth man`: man pages, generated from the flags of all commands. The build runs it; `cmake --install` installs the pages.
#include <fmt/format.h>

#include <filesystem>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "core/error.h"
#include "core/files/file.h"
#include "core/text/utf8.h"
#include "hearth/hearth.h"

namespace hearth::cli {
namespace {

// Escapes a text for troff.
std::string escaped(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const char32_t code = next_character(text, at);
    const char c = char(code);
    if (code >= 0x80) out += fmt::format("\\[u{:04X}]", uint32_t(code));
    else if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if (c == '\'') out += "\\(aq";
    else if (c == '`') out += "\\(ga";
    else if (c == '^') out += "\\(ha";
    else if (c == '~') out += "\\(ti";
    else if (c == '.' && (out.empty() || out.back() == '\n')) out += "\\&.";
    else if (c == '\n') out += "\n.br\n";
    else out += c;
  }
  return out;
}

std::string page_head(const std::string& name, std::string_view summary) {
  return fmt::format(".TH {} 1 \"\" \"hearth {}\" \"hearth manual\"\n.SH NAME\n{} \\- {}\n", name, version(), escaped(name),
                     escaped(summary));
}

std::string section(std::string_view title, const std::string& text) {
  return text.empty() ? "" : fmt::format(".SH {}\n{}\n", title, text);
}

std::string examples_of(const Flags& flags) {
  std::string text;
  for (const Example& example : flags.examples())
    text += fmt::format(".TP\n.B {}\n{}\n", escaped(example.command), escaped(example.comment.empty() ? "\\&" : example.comment));
  return text;
}

std::string page_of(const Command& command) {
  std::string page = page_head(fmt::format("hearth-{}", command.name), command.summary);
  visit_flags(command, [&](const Flags& flags) {
    page += section("SYNOPSIS", fmt::format(".B hearth {}\n[FLAGS]", command.name));
    page += section("DESCRIPTION", escaped(flags.summary()) + (flags.notes().empty() ? "" : "\n.PP\n" + escaped(flags.notes())));
    page += ".SH FLAGS\n";
    for (const auto& [group, members] : flags.groups()) {
      page += fmt::format(".SS {}\n", escaped(group));
      for (const Flag* flag : members) page += fmt::format(".TP\n.B {}\n{}\n", escaped(spelled(*flag)), escaped(described(*flag)));
    }
    page += section("EXAMPLES", examples_of(flags));
  });
  page += section("EXIT STATUS", "0: done; 1: failed; 2: wrong usage; 130: interrupted.");
  return page + section("SEE ALSO", ".BR hearth (1)");
}

std::string main_page() {
  std::string page = page_head("hearth", "generate images and text with open-weight models");
  page += section("SYNOPSIS", ".B hearth\nCOMMAND [FLAGS]");
  page +=
      section("DESCRIPTION",
              "hearth runs diffusion and language models from their published checkpoints, on your own machine. Without a model it uses "
              "a small demo model that comes with it.");
  std::string commands, examples;
  for (const Command* command : listed_commands()) {
    commands += fmt::format(".TP\n.BR hearth\\-{} (1)\n{}\n", command->name, escaped(command->summary));
    visit_flags(*command, [&](const Flags& flags) {
      const Example& first = flags.examples().at(0);
      examples += fmt::format(".TP\n.B {}\n{}\n", escaped(first.command), escaped(first.comment));
    });
  }
  page += section("COMMANDS", commands) + section("EXAMPLES", examples);
  page += section("ENVIRONMENT",
                  ".TP\n.B NO_COLOR\nIf set and not empty, output has no color.\n.TP\n.B COLUMNS\nThe width of help, 60 to 100.\n.TP\n"
                  ".B HEARTH_CPU\nThe kernel path of the cpu backend at most: avx2, avx512, avx512bf16, amx.");
  return page + section("EXIT STATUS", "0: done; 1: failed; 2: wrong usage; 130: interrupted.");
}

void run_man(std::span<const std::string> arguments) {
  std::string name, folder;
  Flags flags("man", "Print a man page: that of hearth, or of a command.");
  flags.text("command", "COMMAND", "The command", name, "hearth itself");
  flags.text("--output-dir", "DIR", "Write the pages of hearth and of all commands into this folder", folder, "print one page");
  flags.example("hearth man generate | man -l -", "Read the page of hearth generate");
  if (!flags.parse(arguments)) return;
  if (!folder.empty()) {
    std::filesystem::create_directories(folder);
    write_file(std::filesystem::path(folder) / "hearth.1", main_page());
    for (const Command* command : listed_commands())
      write_file(std::filesystem::path(folder) / fmt::format("hearth-{}.1", command->name), page_of(*command));
    return;
  }
  const Command* command = name.empty() ? nullptr : find_command(name);
  if (!name.empty() && command == nullptr) fail<UsageError>("man: unknown command '{}'", name);
  fmt::print("{}", command == nullptr ? main_page() : page_of(*command));
}

}  // namespace

const Command man = {"man", "Print a man page", run_man};

}  // namespace hearth::cli
