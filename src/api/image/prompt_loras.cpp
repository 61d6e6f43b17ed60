#include "api/image/prompt_loras.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/error.h"
#include "core/text/suggest.h"
#include "core/text/values.h"
#include "models/request.h"

namespace hearth::api {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> parts_of(const std::string& text, char between) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == between) parts.emplace_back();
    else parts.back().push_back(c);
  return parts;
}

// The blocks of a list of factors, after the first, which is that of the text encoders. The numbers are those of CompVis' blocks.
struct Blocks {
  std::string_view side;
  std::vector<int> numbers;
};
std::vector<Blocks> blocks_of(size_t factors) {
  const auto range = [](int end) {
    std::vector<int> all;
    for (int i = 0; i < end; ++i) all.push_back(i);
    return all;
  };
  switch (factors) {
    case 12: return {{"input_blocks", {4, 5, 7, 8}}, {"middle_block", {}}, {"output_blocks", {0, 1, 2, 3, 4, 5}}};
    case 17: return {{"input_blocks", {1, 2, 4, 5, 7, 8}}, {"middle_block", {}}, {"output_blocks", {3, 4, 5, 6, 7, 8, 9, 10, 11}}};
    case 20: return {{"input_blocks", range(9)}, {"middle_block", {}}, {"output_blocks", range(9)}};
    case 26: return {{"input_blocks", range(12)}, {"middle_block", {}}, {"output_blocks", range(12)}};
    default: return {};
  }
}

void add_block_weights(Lora& lora, const std::string& list, const std::string& tag) {
  const std::vector<double> factors = parse_numbers(list);
  const std::vector<Blocks> blocks = blocks_of(factors.size());
  if (blocks.empty()) fail<UsageError>("prompt: {} has {} block weights, expected 12, 17, 20 or 26", tag, factors.size());
  lora.text_scale = lora.text_scale.value_or(lora.scale) * factors[0];
  size_t i = 1;
  for (const Blocks& side : blocks) {
    if (side.numbers.empty()) lora.parts.emplace_back(fmt::format("{}.*", side.side), factors[i++]);
    for (const int number : side.numbers) lora.parts.emplace_back(fmt::format("{}.{}.*", side.side, number), factors[i++]);
  }
}

double number(const std::string& text, const std::string& tag) {
  try {
    return parse_number(text);
  } catch (const UsageError&) { fail<UsageError>("prompt: {} has the strength '{}', expected a number", tag, text); }
}

Lora read_tag(const std::string& inside, const std::map<std::string, fs::path>& known, const fs::path& folder) {
  const std::string tag = "<lora:" + inside + ">";
  std::vector<std::string> plain, named;
  for (const std::string& part : parts_of(inside, ':')) (part.find('=') == part.npos ? plain : named).push_back(part);
  if (plain.empty() || plain[0].empty()) fail<UsageError>("prompt: {} has no name, expected <lora:NAME:SCALE>", tag);
  if (plain.size() > 3) fail<UnsupportedError>("prompt: {} has {} values without a name, expected at most two", tag, plain.size() - 1);
  const auto found = known.find(plain[0]);
  if (found == known.end()) {
    std::vector<std::string> names;
    for (const auto& [name, file] : known) names.push_back(name);
    fail<UsageError>("prompt: {} is not in {}{}", tag, folder.string(), did_you_mean(plain[0], names));
  }
  Lora lora{.file = found->second};
  double text = plain.size() > 1 ? number(plain[1], tag) : 1;
  std::optional<double> unet;
  if (plain.size() > 2) unet = number(plain[2], tag);
  std::string block_weights;
  for (const std::string& option : named) {
    const size_t equals = option.find('=');
    const std::string name = option.substr(0, equals), value = option.substr(equals + 1);
    if (name == "te") text = number(value, tag);
    else if (name == "unet") unet = number(value, tag);
    else if (name == "lbw") block_weights = value;
    else if (name.find('.') != name.npos || name.find('*') != name.npos) lora.parts.emplace_back(name, number(value, tag));
    else fail<UnsupportedError>("prompt: '{}=' in {} is not supported, expected te, unet, lbw or a pattern of modules", name, tag);
  }
  lora.scale = unet.value_or(text), lora.text_scale = text;
  if (!block_weights.empty()) add_block_weights(lora, block_weights, tag);
  return lora;
}

}  // namespace

std::map<std::string, fs::path> loras_in(const fs::path& folder) {
  constexpr std::array<std::string_view, 4> extensions{".safetensors", ".pt", ".ckpt", ".gguf"};
  std::map<std::string, fs::path> all;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    const std::string extension = path.extension().string();
    if (!it->is_regular_file() || std::ranges::find(extensions, extension) == extensions.end()) continue;
    const auto [found, added] = all.emplace(path.stem().string(), path);
    if (!added && path < found->second) found->second = path;  // whatever the order in which the system lists them
  }
  if (error) fail<IoError>("{}: {}", folder.string(), error.message());
  return all;
}

PromptLoras take_loras(const std::string& prompt, const fs::path& folder) {
  constexpr std::array<std::string_view, 2> kinds{"<lora:", "<lyco:"};
  PromptLoras taken;
  std::map<std::string, fs::path> known;
  for (size_t at = 0; at < prompt.size();) {
    const auto kind = std::ranges::find_if(kinds, [&](std::string_view k) { return prompt.compare(at, k.size(), k) == 0; });
    const size_t end = kind == kinds.end() ? prompt.npos : prompt.find('>', at);
    if (end == prompt.npos) {
      taken.prompt.push_back(prompt[at++]);
      continue;
    }
    const std::string inside = prompt.substr(at + kind->size(), end - at - kind->size());
    if (folder.empty()) fail<UsageError>("prompt: <lora:{}> without a folder of such files, expected --lora-dir DIR", inside);
    if (known.empty()) known = loras_in(folder);
    taken.loras.push_back(read_tag(inside, known, folder));
    at = end + 1;
  }
  return taken;
}

Request with_prompt_loras(Request request) {
  if (models::syntax_of(request) != PromptSyntax::a1111) {
    if (!request.lora_folder.empty())
      fail<UsageError>(
          "generate: a folder of LoRAs has no effect on this syntax of prompts, expected --prompt-syntax a1111 or --lora FILE");
    return request;
  }
  PromptLoras taken = take_loras(request.prompt, request.lora_folder);
  request.prompt = std::move(taken.prompt);
  request.loras.insert(request.loras.end(), taken.loras.begin(), taken.loras.end());
  return request;
}

}  // namespace hearth::api
