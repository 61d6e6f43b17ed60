#include "models/clip/prompt_reader.h"

#include "models/clip/embeddings.h"

namespace hearth::models::clip {
namespace {

std::vector<PromptToken> tokens_of(const text::Chunk& chunk, const text::ClipTokenizer& tokenizer,
                                   std::span<const text::EmbeddingName> names) {
  const auto is = [&](size_t i, int32_t id) { return chunk[i].embedding < 0 && chunk[i].id == id; };
  size_t end = chunk.size();  // of the text: the end token and padding follow
  while (end > 1 && is(end - 1, tokenizer.pad())) --end;
  if (end > 1 && is(end - 1, tokenizer.eos())) --end;
  std::vector<PromptToken> tokens;
  for (size_t i = 1; i < end; ++i) {
    const text::Slot& slot = chunk[i];
    PromptToken& token = tokens.emplace_back(PromptToken{.id = slot.id, .weight = double(slot.weight)});
    if (slot.embedding < 0) {
      token.piece = tokenizer.decode({slot.id});
    } else {
      const text::EmbeddingName& name = names[size_t(slot.embedding)];
      token.piece = name.name, token.vector = slot.vector + 1, token.vectors = name.vectors;
    }
  }
  return tokens;
}

}  // namespace

ClipPromptReader::ClipPromptReader(text::ClipTokenizer tokenizer, std::string encoder, std::string embedding, int64_t width)
    : tokenizer_(std::move(tokenizer)), encoder_(std::move(encoder)), embedding_(std::move(embedding)), width_(width) {}

Tokens ClipPromptReader::tokenize(std::string_view text, bool special_tokens) const {
  Tokens tokens{.ids = tokenizer_.tokenize(text), .pieces = tokenizer_.pieces(text)};
  if (!special_tokens) return tokens;
  // The whole text between start and end token, of any length.
  const text::ClipTokenizer::Encoding around = tokenizer_.encode("");
  tokens.ids.insert(tokens.ids.begin(), tokenizer_.bos());
  tokens.ids.push_back(tokenizer_.eos());
  tokens.pieces.insert(tokens.pieces.begin(), tokenizer_.decode({around.ids.at(0)}));
  tokens.pieces.push_back(tokenizer_.decode({around.ids.at(1)}));
  return tokens;
}

std::string ClipPromptReader::detokenize(const std::vector<int32_t>& ids) const { return tokenizer_.decode(ids); }

ReadPrompt ClipPromptReader::read(std::string_view prompt, text::PromptSyntax syntax, text::Emphasis emphasis, const PromptReading& reading,
                                  Backend& device) const {
  std::vector<text::EmbeddingName> names;
  read_embeddings(reading.embeddings, syntax, embedding_, width_, device, names);
  const text::ClipTokenizer tokenizer = text::tokenizer_for(syntax, tokenizer_);
  const text::Prompt read = text::read_prompt(prompt, text::PromptRole::positive,
                                              {.syntax = syntax, .emphasis = emphasis, .steps = reading.steps}, tokenizer, names);
  ReadPrompt out{.encoder = encoder_, .warnings = read.warnings};
  for (const text::Condition& condition : read.conditions) {
    PromptCondition& c = out.conditions.emplace_back(PromptCondition{.weight = condition.weight});
    for (const text::PromptEntry& entry : condition.entries) {
      PromptText& t = c.texts.emplace_back(PromptText{.end = entry.end, .text = entry.text});
      for (const text::Chunk& chunk : entry.chunks) t.chunks.push_back(tokens_of(chunk, tokenizer, names));
    }
  }
  return out;
}

}  // namespace hearth::models::clip
