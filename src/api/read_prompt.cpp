#include "api/prompts.h"
#include "core/error.h"
#include "hearth/prompt.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

text::ClipTokenizer open_clip(const fs::path& model) {
  const fs::path folder = fs::exists(model / "model_index.json") ? model / "tokenizer" : model;
  if (!fs::is_directory(folder)) fail<UnsupportedError>("{}: prompts are read by the folder of a CLIP tokenizer", model.string());
  return text::ClipTokenizer::load(folder);
}

std::vector<PromptToken> tokens_of(const text::Chunk& chunk, const text::ClipTokenizer& tokenizer) {
  size_t end = chunk.size();  // of the text: what follows is the end and padding
  while (end > 1 && chunk[end - 1].id == tokenizer.pad()) --end;
  if (end > 1 && chunk[end - 1].id == tokenizer.eos()) --end;
  std::vector<PromptToken> tokens;
  for (size_t i = 1; i < end; ++i) tokens.push_back({chunk[i].id, tokenizer.decode({chunk[i].id}), double(chunk[i].weight)});
  return tokens;
}

}  // namespace

ReadPrompt read_prompt(const fs::path& model, std::string_view prompt, const std::string& syntax, const std::string& emphasis,
                       int64_t steps) {
  const Request request{.prompt_syntax = syntax, .emphasis = emphasis};
  const text::PromptSyntax how = api::syntax_of(request);
  if (steps < 1) fail<UsageError>("read_prompt: {} steps, needed at least 1", steps);
  const text::ClipTokenizer tokenizer = text::tokenizer_for(how, open_clip(model));
  const text::Prompt read = text::read_prompt(prompt, text::PromptRole::positive,
                                              {.syntax = how, .emphasis = api::emphasis_of(request), .steps = steps}, tokenizer, {});
  ReadPrompt out{.warnings = read.warnings};
  for (const text::Condition& condition : read.conditions) {
    PromptCondition& c = out.conditions.emplace_back(PromptCondition{.weight = condition.weight});
    for (const text::PromptEntry& entry : condition.entries) {
      PromptText& t = c.texts.emplace_back(PromptText{.end = entry.end, .text = entry.text});
      for (const text::Chunk& chunk : entry.chunks) t.chunks.push_back(tokens_of(chunk, tokenizer));
    }
  }
  return out;
}

}  // namespace hearth
