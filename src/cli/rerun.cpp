#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/generate_flags.h"
#include "cli/say.h"
#include "core/error.h"
#include "hearth/rerun.h"

namespace hearth::cli {
namespace {

constexpr const char* notes =
    "From hearth's own words the picture comes again to the pixel, with the same model on the same kind of processor; from A1111's and "
    "ComfyUI's as near as they tell. What cannot be asked for again is listed first.\n"
    "All other flags are those of hearth generate; they take the place of the picture's own, as --seed 8, -m MODEL, -o FILE.";

bool is_flag(const std::string& word) { return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9') && word[1] != '.'; }

// The flags of generate, by any of their spellings.
class Spellings {
 public:
  Spellings() : flags_("generate", "") { values_.add_to(flags_); }
  // "-m" and "-m=x" → "--model"
  std::string operator()(const std::string& word) const { return flags_.long_name_of(word.substr(0, word.find('='))); }

 private:
  GenerateFlags values_;
  Flags flags_;
};

// The picture's arguments but for those that the user gives.
std::vector<std::string> merged(const std::vector<std::string>& own, std::span<const std::string> given, const Spellings& long_name) {
  std::vector<std::string> replaced, all;
  for (const std::string& word : given)
    if (is_flag(word)) replaced.push_back(long_name(word));
  for (size_t i = 0; i < own.size(); ++i) {
    const bool has_value = own[i].find('=') == own[i].npos && i + 1 < own.size() && !own[i + 1].starts_with("--");
    const bool keep = std::ranges::find(replaced, long_name(own[i])) == replaced.end();
    if (keep) all.push_back(own[i]);
    if (!has_value) continue;
    ++i;
    if (keep) all.push_back(own[i]);
  }
  all.insert(all.end(), given.begin(), given.end());
  return all;
}

std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=+") == word.npos)
    return word;
  std::string text(1, '\'');
  for (const char c : word) {
    if (c == '\'') text.append("'\\''");
    else text.push_back(c);
  }
  text.push_back('\'');
  return text;
}

void run_rerun(std::span<const std::string> arguments) {
  std::string picture;
  bool print = false, help = arguments.empty();
  std::vector<std::string> given;
  for (const std::string& word : arguments) {
    if (word == "--print") print = true;
    else if (word == "--help" || word == "-h") help = true;
    else if (&word == &arguments[0] && !is_flag(word)) picture = word;
    else given.push_back(word);
  }
  if (help) {
    Flags flags("rerun", "Makes a picture again from what it says of itself: hearth's, A1111's or ComfyUI's words.", notes);
    flags.text("picture", "FILE", "PNG, JPEG or WebP", picture);
    flags.toggle("--print", "Print the command and run nothing", print);
    fmt::print("{}", flags.help());
    return;
  }
  if (picture.empty()) fail<UsageError>("rerun: the picture is missing; it comes before the flags");
  const Rerun made = rerun_of(picture);
  const Spellings long_name;
  const std::vector<std::string> all = merged(made.arguments, given, long_name);
  const auto has = [&](const char* flag) {
    return std::ranges::any_of(given, [&](const std::string& word) { return is_flag(word) && long_name(word) == flag; });
  };
  for (const std::string& what : made.not_honoured) say("rerun: not honoured: " + what);
  for (const auto& [flag, sum] : made.pictures) {
    const auto at = std::ranges::find(all, flag);
    if (at == all.end() || has(flag.c_str()) || at + 1 == all.end()) continue;
    if (!print && pixels_sum(*(at + 1)) != sum)
      fail<UsageError>("rerun: {} {} is another picture than it was; {} FILE names the right one", flag, *(at + 1), flag);
  }
  if (print) {
    std::string line = "hearth generate";
    for (const std::string& word : all) line.append(1, ' ').append(quoted(word));
    fmt::print("{}\n", line);
    return;
  }
  if (!has("--model") && made.model != "demo-model")
    fail<UsageError>("rerun: {} was made with the model '{}': needed --model PATH", picture, made.model);
  generate.run(all);
}

}  // namespace

const Command rerun = {"rerun", "make a picture again from its own words", run_rerun};

}  // namespace hearth::cli
