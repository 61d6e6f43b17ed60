// Help, completion and man pages: what is written from the flags of all commands.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.h"
#include "cli/completion.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/process.h"
#include "core/error.h"

namespace hearth::test {
namespace {

using Arguments = std::vector<std::string>;
using Json = nlohmann::json;

class HelpTest : public CommandTest {
 protected:
  static void for_all_flags(const std::function<void(const cli::Flags&, const cli::Flag&)>& visit) {
    for (const cli::Command* command : cli::listed_commands())
      cli::visit_flags(*command, [&](const cli::Flags& flags) {
        for (const cli::Flag& flag : flags.all()) visit(flags, flag);
      });
  }
  std::string text_of(const std::string& file) const {
    std::ifstream in(folder / file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // What a shell command prints; "missing" if that shell is not installed.
  std::string shell(const std::string& name, const std::string& script) const {
    if (std::system(("command -v " + name + " >/dev/null").c_str()) != 0) return "missing";
    std::ofstream(folder / "script") << script;
    const std::string command = fmt::format("cd {} && {} script > out 2>&1", folder.string(), name);
    const int code = std::system(command.c_str());
    return text_of("out") + (code == 0 ? "" : fmt::format("exit code {}", code));
  }
};

size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, cli::width_of(line));
  return longest;
}

TEST_F(HelpTest, every_flag_has_help_and_a_default) {
  for_all_flags([](const cli::Flags& flags, const cli::Flag& flag) {
    const std::string where = flags.command() + " " + flag.long_name();
    EXPECT_GT(flag.help.size(), 8u) << where;
    EXPECT_TRUE(flag.help[0] == '-' || !std::islower(static_cast<unsigned char>(flag.help[0])) || flag.help.find(':') < 12) << where;
    EXPECT_NE(flag.help.back(), '.') << where;
    EXPECT_EQ(flag.default_text.empty(), !flag.takes_value()) << where;
    EXPECT_FALSE(flag.group.empty()) << where;
    for (const std::string& name : flag.names) EXPECT_EQ(std::ranges::count(flag.aliases, name), 0) << where;
  });
}

TEST_F(HelpTest, no_spelling_means_two_flags) {
  for (const cli::Command* command : cli::listed_commands())
    cli::visit_flags(*command, [](const cli::Flags& flags) {
      std::set<std::string> seen;
      for (const cli::Flag& flag : flags.all()) {
        for (const std::string& name : flag.names) EXPECT_TRUE(seen.insert(name).second) << flags.command() << " " << name;
        for (const std::string& name : flag.aliases) EXPECT_TRUE(seen.insert(name).second) << flags.command() << " " << name;
      }
    });
}

TEST_F(HelpTest, generate_shows_ten_flags_first_and_then_groups) {
  int basic = 0;
  std::vector<std::string> groups;
  cli::visit_flags(*cli::find_command("generate"), [&](const cli::Flags& flags) {
    for (const cli::Flag& flag : flags.all()) basic += flag.basic && flag.group != cli::general_group;
    for (const auto& [name, members] : flags.groups()) groups.push_back(name);
  });
  EXPECT_EQ(basic, 10);
  EXPECT_EQ(groups, (Arguments{"Model",
                               "Prompt",
                               "Image",
                               "Sampling",
                               "Guidance",
                               "Image-to-image",
                               "Adapters",
                               "FLUX.1",
                               "Stable Diffusion 3",
                               "AuraFlow",
                               "SANA",
                               "Stable Diffusion 1",
                               "Hunyuan-DiT",
                               "Stable Diffusion XL",
                               "Stable Diffusion XL refiner",
                               "Stable Cascade",
                               "Memory and performance",
                               "Output",
                               "Debugging",
                               "General"}));
}

TEST_F(HelpTest, fits_its_width_and_has_no_color_without_a_terminal) {
  for (const cli::Command* command : cli::all_commands())
    for (const char* flag : {"--help", "--help-all"})
      for (const char* columns : {"80", "100", "300", ""}) {
        const Arguments arguments{std::string(command->name), flag};
        const std::string out = run(arguments, [&] { ::setenv("COLUMNS", columns, 1); }).out;
        EXPECT_LE(longest_line(out), std::string(columns) == "80" ? 80u : 100u) << out;
        EXPECT_GT(out.size(), 300u);
        EXPECT_EQ(out.find('\x1b'), out.npos);
      }
  EXPECT_LE(longest_line(run({"--help"}, [] { ::setenv("COLUMNS", "80", 1); }).out), 80u);
}

TEST_F(HelpTest, a_terminal_has_color_unless_it_is_refused) {
  const auto on_terminal = [&](const std::string& environment) {
    return shell("sh", fmt::format("{} script -qec '{} generate --help' /dev/null", environment, HEARTH_COMMAND));
  };
  if (std::system("command -v script >/dev/null") != 0) GTEST_SKIP() << "script(1) is not installed";
  EXPECT_NE(on_terminal("TERM=xterm").find("\x1b[36m-m, --model PATH\x1b[0m"), std::string::npos);
  EXPECT_EQ(on_terminal("TERM=xterm NO_COLOR=1").find('\x1b'), std::string::npos);
  EXPECT_EQ(on_terminal("TERM=dumb").find('\x1b'), std::string::npos);
}

// The words of an example as a shell splits them.
Arguments words_of(const std::string& command) {
  Arguments words;
  std::string word;
  bool quoted = false, any = false;
  for (const char c : command) {
    if (c == '"') {
      quoted = !quoted, any = true;
    } else if (c == ' ' && !quoted) {
      if (any || !word.empty()) words.push_back(word);
      word.clear(), any = false;
    } else {
      word += c;
    }
  }
  if (any || !word.empty()) words.push_back(word);
  return words;
}

TEST_F(HelpTest, examples_are_valid_command_lines) {
  std::vector<std::pair<std::string, std::string>> examples;
  for (const cli::Command* command : cli::listed_commands())
    cli::visit_flags(*command, [&](const cli::Flags& flags) {
      EXPECT_FALSE(flags.examples().empty()) << flags.command();
      for (const cli::Example& example : flags.examples()) examples.emplace_back(flags.command(), example.command);
    });
  for (const auto& [command, example] : examples) {
    Arguments words = words_of(example);
    if (words[0] != "hearth" || words.size() < 2) continue;  // source <(hearth completion bash)
    EXPECT_EQ(words[1], command) << example;
    const bool handed_on = command == "rerun";
    cli::visit_flags(*cli::find_command(command), [&](const cli::Flags& flags) {
      for (const std::string& word : words)
        if (word.size() > 1 && word[0] == '-' && !handed_on) { EXPECT_TRUE(flags.has(word)) << example; }
    });
    if (example.find(" > ") != example.npos || example.find(" | ") != example.npos) continue;
    words.erase(words.begin());
    const auto takes_minutes = {"bench", "pull", "samplers", "serve"};
    if (std::ranges::find(takes_minutes, command) != takes_minutes.end()) {
      words.push_back("--no-such-flag");
      EXPECT_NE(run(words).err.find("--no-such-flag: unknown flag"), std::string::npos) << example;
      continue;
    }
    const std::string err = run(words, [] { ::setenv("HOME", "/nowhere", 1); }).err;  // files are missing, and nothing else is wrong
    EXPECT_EQ(err.find("unknown flag"), err.npos) << example << ": " << err;
    EXPECT_EQ(err.find("unexpected argument"), err.npos) << example << ": " << err;
    EXPECT_EQ(err.find("is unknown"), err.npos) << example << ": " << err;
  }
}

// Names of earlier versions and of other programs.
TEST_F(HelpTest, aliases_are_accepted) {
  const std::map<std::string, std::vector<std::pair<std::string, std::string>>> aliases{
      {"generate",
       {{"--text-precision", "--text-encoder-precision"},
        {"--text-device", "--text-encoder-device"},
        {"--cache", "--weight-cache"},
        {"--chroma", "--chroma-subsampling"},
        {"--guidance", "--cfg-scale"},
        {"--guidance-scale", "--cfg-scale"},
        {"--sampling-method", "--sampler"},
        {"--scheduler", "--schedule"},
        {"--denoise", "--strength"},
        {"--init-img", "--init-image"},
        {"--image-guidance-scale", "--image-guidance"},
        {"-b", "--batch-count"},
        {"-s", "--seed"}}},
      {"complete",
       {{"--no-special", "--no-special-tokens"},
        {"--ignore-end", "--ignore-eos"},
        {"--context", "--ctx-size"},
        {"-c", "--ctx-size"},
        {"--cache-type", "--kv-cache-type"},
        {"--prompt-ids", "--prompt-token-ids"},
        {"--stop-ids", "--stop-token-ids"},
        {"-n", "--max-tokens"},
        {"--n-predict", "--max-tokens"},
        {"--temp", "--temperature"},
        {"--repeat-penalty", "--repetition-penalty"},
        {"-f", "--prompt-file"},
        {"--file", "--prompt-file"}}},
      {"chat",
       {{"--system", "--system-prompt"},
        {"--variables", "--chat-template-kwargs"},
        {"--template", "--chat-template"},
        {"--continue", "--continue-final-message"}}},
      {"perplexity", {{"--context", "--ctx-size"}}},
      {"tokenize", {{"--no-special", "--no-special-tokens"}}},
      {"samplers",
       {{"--sheet", "--contact-sheet"},
        {"--convergence", "--convergence-plot"},
        {"--orders", "--order-plot"},
        {"--cell", "--thumbnail-width"}}},
      {"bench",
       {{"--hold", "--ops-weight-type"},
        {"--keep", "--save-weights"},
        {"--only", "--filter"},
        {"--path", "--kernel-path"},
        {"--weights", "--weight-type"},
        {"--repeats", "--repetitions"}}},
      {"rerun", {{"--print", "--print-command"}}},
  };
  for (const auto& [command, pairs] : aliases)
    cli::visit_flags(*cli::find_command(command), [&](const cli::Flags& flags) {
      for (const auto& [alias, name] : pairs) EXPECT_EQ(flags.long_name_of(alias), name) << flags.command();
    });
  EXPECT_EQ(run({"complete", "-p", "The", "--n-predict", "3", "--temp", "0", "--ignore-end", "--seed", "1"}).out,
            run({"complete", "-p", "The", "--max-tokens", "3", "--temperature", "0", "--ignore-eos", "--seed", "1"}).out);
  const Arguments image{"generate", "-p", "x", "--steps", "1", "-W", "64", "-H", "64", "--json"};
  Arguments old = image;
  old.insert(old.end(), {"--text-precision", "f32", "--guidance", "2", "-s", "3", "--rng", "cpu"});
  const Json json = Json::parse(run(old).out);
  EXPECT_EQ(json["runs"][0]["request"]["guidance"], 2.0);
  EXPECT_EQ(json["images"], json["pictures"]);  // the key's earlier name
  EXPECT_EQ(json["images"][0]["seed"], 3);
}

TEST_F(HelpTest, completion_has_every_flag_and_command) {
  const std::string bash = cli::bash_completion(), zsh = cli::zsh_completion(), fish = cli::fish_completion();
  EXPECT_EQ(run({"completion", "bash"}).out, bash);
  EXPECT_EQ(run({"completion", "zsh"}).out, zsh);
  EXPECT_EQ(run({"completion", "fish"}).out, fish);
  EXPECT_EQ(not_one_line(run({"completion"}), 2), "");
  for_all_flags([&](const cli::Flags& flags, const cli::Flag& flag) {
    if (flag.positional()) return;
    for (const std::string& name : flag.names) {
      const std::string where = flags.command() + " " + name;
      EXPECT_NE(zsh.find(name + "["), zsh.npos) << where;
      EXPECT_NE(fish.find((name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1)) + " "), fish.npos) << where;
      const size_t row = bash.find("\n    " + flags.command() + ") echo '");
      EXPECT_NE(bash.substr(row, bash.find('\n', row + 1) - row).find(name), bash.npos) << where;
    }
  });
}

TEST_F(HelpTest, bash_completes_commands_flags_values_and_files) {
  std::ofstream(folder / "house.png") << "x";
  const auto completed = [&](const std::vector<std::string>& words) {
    std::string quoted;
    for (const std::string& word : words) quoted += " '" + word + "'";
    return shell("bash", fmt::format("{}\nCOMP_WORDS=(hearth{})\nCOMP_CWORD={}\n_hearth\necho \"${{COMPREPLY[*]}}\"\n",
                                     cli::bash_completion(), quoted, words.size()));
  };
  EXPECT_EQ(completed({"gen"}), "generate\n");
  EXPECT_EQ(completed({"co"}), "complete convert completion\n");
  EXPECT_EQ(completed({"generate", "--seed", "3", "--guidance-me"}), "--guidance-method\n");
  EXPECT_EQ(completed({"generate", "--sampler", "euler_a"}), "euler_ancestral euler_ancestral_cfg_pp\n");
  EXPECT_EQ(completed({"generate", "--resize-mode", "=", "cr"}), "crop\n");
  EXPECT_EQ(completed({"generate", "--resize-mode", "="}), "stretch crop fill\n");
  EXPECT_EQ(completed({"generate", "--init-image", "ho"}), "house.png\n");
  EXPECT_EQ(completed({"generate", "-p", "ho"}), "\n");
  EXPECT_EQ(completed({"inspect", "ho"}), "house.png\n");
  EXPECT_EQ(completed({"-q", "list", "sa"}), "samplers\n");
  EXPECT_EQ(completed({"completion", "z"}), "zsh\n");
}

TEST_F(HelpTest, scripts_of_other_shells_have_no_syntax_errors) {
  std::ofstream(folder / "zsh-script") << cli::zsh_completion();
  std::ofstream(folder / "fish-script") << cli::fish_completion();
  const std::string zsh = shell("zsh", "zsh -n zsh-script"), fish = shell("fish", "fish --no-execute fish-script");
  if (zsh != "missing") { EXPECT_EQ(zsh, ""); }
  if (fish != "missing") { EXPECT_EQ(fish, ""); }
}

TEST_F(HelpTest, man_pages_have_every_flag) {
  ASSERT_EQ(run({"man", "--output-dir", "man1"}).code, 0);
  const auto unescaped = [](std::string text) {
    for (size_t at = 0; (at = text.find("\\-", at)) != text.npos; ++at) text.erase(at, 1);
    return text;
  };
  const std::string all = unescaped(text_of("man1/hearth.1"));
  for (const cli::Command* command : cli::listed_commands()) {
    EXPECT_NE(all.find(fmt::format("hearth-{} (1)", command->name)), all.npos);
    const std::string page = unescaped(text_of(fmt::format("man1/hearth-{}.1", command->name)));
    EXPECT_EQ(page, unescaped(run({"man", std::string(command->name)}).out));
    cli::visit_flags(*command, [&](const cli::Flags& flags) {
      for (const cli::Flag& flag : flags.all()) EXPECT_NE(page.find(".B " + cli::spelled(flag) + "\n"), page.npos) << cli::spelled(flag);
      for (const auto& [group, members] : flags.groups()) EXPECT_NE(page.find(".SS " + group + "\n"), page.npos) << group;
    });
  }
  EXPECT_EQ(run({"man"}).out, text_of("man1/hearth.1"));
  EXPECT_EQ(not_one_line(run({"man", "paint"}), 2), "");
  if (std::system("command -v groff >/dev/null") == 0) {
    EXPECT_EQ(shell("sh", "groff -man -Tutf8 -ww man1/hearth-generate.1 man1/hearth.1 > /dev/null"), "");
  }
}

}  // namespace
}  // namespace hearth::test
