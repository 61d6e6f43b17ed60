// Help, lists, mistakes: everything that needs no model.
#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "cli/process.h"
#include "hearth/hearth.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

TEST_F(CommandTest, version) {
  const Ended r = run({"--version"});
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(std::regex_match(r.out, std::regex(fmt::format("hearth {}( \\([0-9a-f]{{12}}(-dirty)?\\))?\n", version())))) << r.out;
  EXPECT_EQ(r.err, "");
}

std::vector<std::string> commands_in(const std::string& help) {
  std::vector<std::string> commands;
  const std::regex line("\n  ([a-z]+) +[A-Z]");
  for (std::sregex_iterator it(help.begin(), help.end(), line), end; it != end; ++it)
    if ((*it)[1] != "hearth") commands.push_back((*it)[1]);
  return commands;
}

TEST_F(CommandTest, every_command_has_help) {
  const Ended all = run({"--help"});
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(run({"-h"}).out, all.out);
  EXPECT_EQ(run({"help"}).out, all.out);
  for (const std::string& command : commands_in(all.out)) {
    const Ended help = run({command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_EQ(help.err, "");
    EXPECT_NE(help.out.find("Usage: hearth " + command), std::string::npos) << help.out;
    EXPECT_NE(help.out.find("-h, --help"), std::string::npos);
    EXPECT_EQ(run({command, "-h"}).out, help.out);
    EXPECT_EQ(run({"help", command}).out, run({command, "--help-all"}).out);
    EXPECT_NE(all.out.find("\n  hearth " + command), std::string::npos) << "an example of " << command;
  }
  EXPECT_GE(commands_in(all.out).size(), 14u);
}

TEST_F(CommandTest, the_first_run_says_what_to_try_in_two_lines) {
  const Ended r = run({});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 2) << r.out;
  for (const char* part : {"images and text", "hearth generate -p", "hearth --help"})
    EXPECT_NE(r.out.find(part), std::string::npos) << r.out;
  EXPECT_EQ(run({"-q"}).out, r.out);
}

TEST_F(CommandTest, wrong_usage_is_one_line_and_exit_code_2) {
  const std::pair<Arguments, std::string> mistakes[] = {
      {{"genrate"}, "genrate: unknown command; did you mean generate? (see hearth --help)"},
      {{"--verison"}, "--verison: unknown flag; did you mean --version? (see hearth --help)"},
      {{"--version", "x"}, "--version: unexpected argument 'x'"},
      {{"--help", "x"}, "--help: unexpected argument 'x'"},
      {{""}, ": unknown command (see hearth --help)"},
      {{"generate"}, "generate: --prompt is missing; --prompt \"\" generates without one"},
      {{"generate", "-p", "x", "--stpes", "5"}, "--stpes: unknown flag; did you mean --steps? (see hearth generate --help-all)"},
      {{"generate", "-p", "x", "--hypernetwork", "y"}, "--hypernetwork: unknown flag (see hearth generate --help-all)"},
      {{"generate", "-p", "x", "--controls", "y"}, "--controls: unknown flag; did you mean --control? (see hearth generate --help-all)"},
      {{"generate", "-p", "x", "y"}, "'y': unexpected argument (see hearth generate --help)"},
      {{"generate", "-p", "x", "--steps", "0"}, "--steps: 0 is out of range, expected at least 1"},
      {{"generate", "-p", "x", "--steps", "many"}, "--steps: 'many' is not a whole number"},
      {{"generate", "-p", "x", "--cfg-scale", "nan"}, "--cfg-scale: nan is not a finite number"},
      {{"generate", "-p", "x", "--seed", "-1"}, "--seed: '-1' is not a whole number from 0 to 18446744073709551615"},
      {{"generate", "-p", "x", "--threads", "0"}, "--threads: 0 is out of range, expected 1 to 1024"},
      {{"generate", "-p", "x", "--threads", "1025"}, "--threads: 1025 is out of range, expected 1 to 1024"},
      {{"generate", "-p", "x", "--batch-size", "0"}, "--batch-size: 0 is out of range, expected at least 1"},
      {{"generate", "-p", "x", "--batch-size", "99999999999"},
       "--batch-size: 99999999999 times --batch-count 1 is too many images, expected at most 1048576"},
      {{"generate", "-p", "x", "--batch-size", "524289", "--batch-count", "2"},
       "--batch-size: 524289 times --batch-count 2 is too many images, expected at most 1048576"},
      {{"generate", "-p", "x", "--device", "cdua"}, "--device: 'cdua' is unknown, expected one of auto, cpu, vulkan, reference"},
      {{"generate", "-p", "x", "--precision", "fp16"},
       "--precision: 'fp16' is unknown, expected one of f32, bf16, f16, auto; did you mean f16?"},
      {{"generate", "-p", "x", "--compat", "forge"}, "--compat: 'forge' is unknown, expected one of diffusers, comfyui, a1111"},
      {{"generate", "-p", "x", "--debug", "timing,time"}, "--debug: 'time' is unknown, expected one of timing, shapes, nan, all"},
      {{"list", "sampler"},
       "what: 'sampler' is unknown, expected one of models, samplers, guidance, schedules, backends; did you mean samplers?"},
  };
  for (const auto& [arguments, message] : mistakes) {
    const Ended r = run(arguments);
    EXPECT_EQ(not_one_line(r, 2), "") << message;
    EXPECT_EQ(r.err, "hearth: " + message + "\n");
  }
  for (const auto& [typed, meant] : std::vector<std::pair<std::string, std::string>>{
           {"eulr", "euler"}, {"Euler Karas", "Euler karras"}, {"DPM++ 2M Karas", "DPM++ 2M karras"}}) {
    const Ended sampler = run({"generate", "-p", "x", "--sampler", typed});
    EXPECT_EQ(not_one_line(sampler, 2), "");
    EXPECT_NE(sampler.err.find("; did you mean " + meant + "?"), std::string::npos) << sampler.err;
  }
  EXPECT_TRUE(files().empty());
}

// Exactly the flags that the help calls repeatable may be given twice.
TEST_F(CommandTest, only_repeatable_flags_may_be_repeated) {
  std::set<std::string> repeatable;
  for (const std::string& command : commands_in(run({"--help"}).out)) {
    if (command == "rerun") continue;  // its flags are those of generate
    for (const auto& [flag, help] : help_of_flags(command)) {
      const bool says_so = help.find("may be repeated") != help.npos;
      if (help.compare(0, 2, "  ") == 0 || help.empty()) continue;  // takes no value
      const std::string err = run({command, flag, "x", flag, "x", "--no-such-flag"}).err;
      EXPECT_EQ(err.find("given 2 times, expected once") == err.npos, says_so) << command << " " << flag << ": " << err;
      if (says_so) repeatable.insert(command + " " + flag);
    }
  }
  for (const char* flag : {"generate --embedding", "generate --sampler-opt", "tokenize --embedding", "complete --stop", "chat --stop"})
    EXPECT_TRUE(repeatable.contains(flag)) << flag;
}

// Random arguments end with an exit code, never with a signal. --prompt is missing, so nothing is generated.
TEST_F(CommandTest, random_arguments_never_crash) {
  const Arguments pieces = {"generate",
                            "list",
                            "--steps",
                            "-W",
                            "--seed",
                            "--cfg-scale",
                            "--sampler",
                            "--json",
                            "--debug",
                            "-t",
                            "--noise",
                            "-o",
                            "--",
                            "-",
                            "",
                            "-1",
                            "99999999999999999999999",
                            "1e400",
                            "nan",
                            "\xff\xfe",
                            "日本",
                            "{}",
                            "%n%s",
                            "--steps=",
                            "--=",
                            "=",
                            "-W5",
                            "--json=x",
                            "[1,2]",
                            "models",
                            std::string(5000, 'a'),
                            "x\ny",
                            "--help",
                            "--version"};
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    Arguments arguments = {pieces[random() % 2]};
    for (size_t n = random() % 6; n > 0; --n) arguments.push_back(pieces[random() % pieces.size()]);
    const Ended r = run(arguments);
    EXPECT_TRUE(r.code == 0 || r.code == 1 || r.code == 2) << fmt::format("{} signal {}: {}", r.code, r.signal, r.err);
    if (r.code != 0) { EXPECT_EQ(not_one_line(r, r.code), ""); }
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(CommandTest, lists) {
  const Ended all = run({"list"});
  EXPECT_EQ(all.code, 0);
  std::string parts;
  for (const char* kind : {"models", "samplers", "guidance", "schedules", "backends"}) parts += run({"list", kind}).out;
  EXPECT_EQ(all.out, parts);
  for (const Named& n : list_samplers()) EXPECT_NE(all.out.find("  " + n.summary + "\n"), std::string::npos) << n.name;
  const std::string guidance = run({"list", "guidance"}).out;  // the summaries are in one column, two spaces after the longest name
  size_t name_width = 0;
  for (const Named& n : list_guidance()) name_width = std::max(name_width, n.name.size());
  for (const Named& n : list_guidance()) {
    const size_t at = guidance.find("  " + n.summary + "\n") + 2;
    EXPECT_EQ(at - guidance.rfind('\n', at) - 1, 2 + name_width + 2) << guidance;
  }
  const std::string models = run({"list", "models"}).out;  // every name, in lines that fit a terminal
  for (const Named& n : list_models()) {
    if (n.aliases.at(0) != n.name) {
      EXPECT_NE(models.find("  " + n.summary + "\n      also " + n.aliases.at(0)), std::string::npos) << models;
    }
    for (const std::string& alias : n.aliases) EXPECT_NE(models.find(alias), std::string::npos) << alias;
  }
  for (size_t at = 0, end = 0; (end = models.find('\n', at)) != models.npos; at = end + 1) EXPECT_LE(end - at, 132u) << models;
  const std::string samplers = run({"list", "samplers"}).out;
  EXPECT_NE(samplers.find("  lms                             4      n               never       default      linear multistep"),
            std::string::npos)
      << samplers;
  EXPECT_NE(samplers.find("      also LMS, k_lms, LMSDiscreteScheduler\n      --sampler-opt order=4  slopes that"), std::string::npos)
      << samplers;
  EXPECT_NE(samplers.find("(ComfyUI): integrated or denoised\n"), std::string::npos) << samplers;
  EXPECT_NE(run({"list", "--help"}).out.find("(default: all)"), std::string::npos);
  for (const char* word : {"sd1", "ddim", "euler", "euler_ancestral", "dpmpp_2m", "plms", "karras", "cpu", "reference"})
    EXPECT_NE(all.out.find(word), std::string::npos) << word;
  const Json json = Json::parse(run({"list", "samplers", "--json"}).out);
  ASSERT_EQ(json.size(), 1u);
  ASSERT_EQ(json["samplers"].size(), list_samplers().size());
  for (size_t i = 0; i < list_samplers().size(); ++i) {
    EXPECT_EQ(json["samplers"][i]["name"], list_samplers()[i].name);
    EXPECT_EQ(json["samplers"][i]["aliases"], list_samplers()[i].aliases);
    EXPECT_EQ(json["samplers"][i]["summary"], list_samplers()[i].summary);
    for (const char* key : {"order", "calls", "noise", "schedule", "needs_unconditional", "options"})
      EXPECT_TRUE(json["samplers"][i].contains(key)) << key;
  }
  EXPECT_EQ(Json::parse(run({"list", "--json"}).out).size(), 5u);
}

TEST_F(CommandTest, a_full_disk_behind_stdout_is_an_error) {
  const Ended r = run({"list"}, [] { ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO); });
  EXPECT_EQ(not_one_line(r, 1), "");
  EXPECT_EQ(r.err, "hearth: stdout: No space left on device\n");
}

}  // namespace
}  // namespace hearth::test
