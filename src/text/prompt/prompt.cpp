#include "text/prompt/prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/prompt/words.h"

namespace hearth::text {
namespace {

std::string_view name_of(PromptRole role) { return role == PromptRole::positive ? "prompt" : "negative prompt"; }

// A1111 removes these from a prompt and loads the files that they name.
void refuse_networks(std::string_view prompt, PromptRole role) {
  for (const std::string_view kind : {"<lora:", "<lyco:", "<hypernet:"})
    if (const size_t begin = prompt.find(kind); begin != prompt.npos && prompt.find('>', begin) != prompt.npos)
      fail<UnsupportedError>("{}: {}…> is not supported", name_of(role), kind);
}

bool is_break(const WeightedText& part) {
  return part.weight != 1 && find_whole_word(decode_utf8(part.text), U"BREAK") != std::u32string::npos;
}

bool is_weighted(const Condition& condition) {
  for (const PromptEntry& entry : condition.entries)
    for (const Chunk& chunk : entry.chunks)
      if (std::ranges::any_of(chunk, [](const Slot& s) { return s.weight != 1; })) return true;
  return false;
}

class A1111 {
 public:
  A1111(PromptRole role, const PromptReading& reading, const ClipTokenizer& tokenizer, std::span<const EmbeddingName> embeddings)
      : role_(role), reading_(reading), tokenizer_(tokenizer), embeddings_(embeddings) {}

  Prompt read(std::string_view prompt) {
    PromptTexts texts = read_texts(prompt, role_, reading_);
    out_.warnings = std::move(texts.warnings);
    for (PromptTexts::Condition& part : texts.conditions) add(part);
    return std::move(out_);
  }

 private:
  void warn(const std::string& line) {
    if (std::ranges::find(out_.warnings, line) == out_.warnings.end()) out_.warnings.push_back(line);
  }

  std::vector<Chunk> chunks_of(const std::string& text) {
    std::vector<WeightedText> parts = reading_.emphasis == Emphasis::none ? std::vector<WeightedText>{{.text = text}} : a1111_weights(text);
    if (std::ranges::any_of(parts, is_break)) warn(fmt::format("the {} has a BREAK inside brackets, where it is a word", name_of(role_)));
    if (reading_.emphasis == Emphasis::ignore)
      for (WeightedText& part : parts) part.weight = 1;
    return a1111_chunks(parts, tokenizer_, embeddings_);
  }

  void add(PromptTexts::Condition& part) {
    Condition condition = {.weight = part.weight};
    std::map<std::string, std::vector<Chunk>> known;  // an alternation repeats its texts
    size_t most = 0;
    for (ScheduledText& entry : part.texts) {
      const auto [found, is_new] = known.try_emplace(entry.text);
      if (is_new) found->second = chunks_of(entry.text);
      most = std::max(most, found->second.size());
      condition.entries.push_back({entry.end, std::move(entry.text), found->second});
    }
    for (PromptEntry& entry : condition.entries) entry.chunks.resize(most, empty_chunk(tokenizer_));
    condition.weighted = is_weighted(condition);
    out_.chunks = std::max(out_.chunks, int64_t(most));
    out_.conditions.push_back(std::move(condition));
  }

  PromptRole role_;
  PromptReading reading_;
  const ClipTokenizer& tokenizer_;
  std::span<const EmbeddingName> embeddings_;
  Prompt out_;
};

Prompt one_condition(PromptEntry entry) {
  Prompt out;
  out.chunks = int64_t(entry.chunks.size());
  out.conditions.push_back({.entries = {std::move(entry)}});
  out.conditions[0].weighted = is_weighted(out.conditions[0]);
  return out;
}

}  // namespace

ClipTokenizer tokenizer_for(PromptSyntax syntax, const ClipTokenizer& tokenizer) {
  switch (syntax) {
    case PromptSyntax::plain: return tokenizer;
    case PromptSyntax::a1111: return tokenizer.with_cleaning(Cleaning::ftfy);
    case PromptSyntax::comfyui: return tokenizer.with_cleaning(Cleaning::basic);
  }
  return tokenizer;
}

PromptTexts read_texts(std::string_view prompt, PromptRole role, const PromptReading& reading) {
  if (reading.syntax != PromptSyntax::a1111) return {.conditions = {{.texts = {{reading.steps, std::string(prompt)}}}}};
  refuse_networks(prompt, role);
  PromptTexts out;
  const auto add = [&](const WeightedPrompt& part) {
    out.conditions.push_back({.weight = part.weight, .texts = prompt_schedule(part.text, reading.steps, reading.before)});
  };
  if (role == PromptRole::positive)
    for (const WeightedPrompt& part : split_at_and(prompt)) add(part);
  else add({std::string(prompt), 1});
  if (role == PromptRole::positive && out.conditions.size() == 1 && out.conditions[0].weight != 1)
    out.warnings.push_back(
        fmt::format("the prompt ends with a number after a colon, which is the weight {} of the whole prompt", out.conditions[0].weight));
  if (prompt.find("embedding:") != prompt.npos)
    out.warnings.push_back(
        fmt::format("the {} names an embedding in ComfyUI's syntax; in this syntax its name alone is enough", name_of(role)));
  return out;
}

Prompt read_prompt(std::string_view prompt, PromptRole role, const PromptReading& reading, const ClipTokenizer& tokenizer,
                   std::span<const EmbeddingName> embeddings) {
  if (reading.syntax == PromptSyntax::a1111) return A1111(role, reading, tokenizer, embeddings).read(prompt);
  if (reading.syntax == PromptSyntax::comfyui)
    return one_condition({reading.steps, std::string(prompt), comfyui_chunks(comfyui_weights(prompt), tokenizer, embeddings)});
  Truncated cut = truncated_chunk(prompt, tokenizer, embeddings);
  Prompt out = one_condition({reading.steps, std::string(prompt), {std::move(cut.chunk)}});
  if (cut.dropped > 0)
    out.warnings.push_back(fmt::format("the {} has {} tokens too many for {} (the syntaxes a1111 and comfyui keep them); dropped:  {}",
                                       name_of(role), cut.dropped, cut.tokens, cut.dropped_text));
  return out;
}

}  // namespace hearth::text
