#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/generate_flags.h"
#include "cli/log.h"
#include "core/error.h"
#include "hearth/rerun.h"

namespace hearth::cli {
namespace {

constexpr const char* notes =
    "From hearth's own metadata the image comes out identical to the pixel, given the same model and the same kind of CPU. A1111 and "
    "ComfyUI store less; what they leave out is logged first.\n"
    "All other flags are those of hearth generate and override the image's parameters: --seed 8, -m MODEL, -o FILE.";

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

// The image's arguments without those that the user overrides.
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
  std::string image;
  bool print = false;
  Flags flags("rerun", "Generate an image again from the generation parameters in its file: hearth's, A1111's or ComfyUI's.", notes);
  flags.text("image", "FILE", "Image with generation parameters: PNG, JPEG or WebP", image, "required");
  flags.toggle("--print-command", "Print the hearth generate command and do not run it", print).also("--print");
  flags.example("hearth rerun house.png -o again.png", "Generate the same image again");
  flags.example("hearth rerun house.png --seed 8 --steps 50", "Change a few parameters");
  flags.example("hearth rerun house.png --print-command", "Show how an image was generated");
  if (Flags::visitor) return void(flags.parse({}));
  // The flags of generate are passed on without being parsed here.
  std::vector<std::string> own, given;
  for (const std::string& word : arguments) {
    if (flags.has(word)) own.push_back(word);
    else if (image.empty() && given.empty() && !is_flag(word)) image = word;
    else given.push_back(word);
  }
  if (arguments.empty()) own.emplace_back("--help");
  if (!flags.parse(own)) return;
  if (image.empty()) fail<UsageError>("rerun: the image is missing, expected it before the flags");
  const Rerun made = rerun_of(image);
  const Spellings long_name;
  const std::vector<std::string> all = merged(made.arguments, given, long_name);
  const auto has = [&](const char* flag) {
    return std::ranges::any_of(given, [&](const std::string& word) { return is_flag(word) && long_name(word) == flag; });
  };
  for (const std::string& what : made.not_reproduced) log_warning("not reproduced: " + what);
  if (!print)
    for (const InputImage& input : made.images)
      if (!has(input.flag.c_str()) && pixels_sum(input.file) != input.sha256)
        fail<UsageError>("rerun: {} {}: the image has changed since; pass the original with {} FILE", input.flag, input.file, input.flag);
  if (!print)
    for (const InputFile& input : made.files)
      if (!has(input.flag.c_str()) && file_sum(input.file) != input.sha256)
        fail<UsageError>("rerun: {} {}: the file has changed since; pass the original with {} FILE", input.flag, input.file, input.flag);
  if (print) {
    std::string line = "hearth generate";
    for (const std::string& word : all) line.append(1, ' ').append(quoted(word));
    fmt::print("{}\n", line);
    return;
  }
  if (!has("--model") && made.model != "demo-model")
    fail<UsageError>("rerun: {} was generated with the model '{}', expected --model PATH", image, made.model);
  find_command("generate")->run(all);
}

}  // namespace

const Command rerun = {"rerun", "Generate an image again from its metadata", run_rerun, "Images"};

}  // namespace hearth::cli
