#include "api/clip_source.h"
#include "api/prompts.h"
#include "backends/backends.h"
#include "core/error.h"
#include "hearth/prompt.h"
#include "models/embeddings.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

std::vector<models::PromptEncoder> encoders_of(const fs::path& model, const PromptReading& reading) {
  if (api::is_picture_model(model)) return api::prompt_encoders(model, reading.config);
  if (!fs::is_directory(model))
    fail<UnsupportedError>("{}: prompts are read by a picture model or the folder of a CLIP tokenizer", model.string());
  if (!reading.config.empty()) fail<UsageError>("{}: a tokenizer's folder; --config is for single files", model.string());
  if (!reading.embeddings.empty()) fail<UsageError>("{}: has no text encoder that embeddings could be for", model.string());
  return {{.name = {}, .tokenizer = text::ClipTokenizer::load(model), .embedding = {}}};
}

std::vector<PromptToken> tokens_of(const text::Chunk& chunk, const text::ClipTokenizer& tokenizer,
                                   std::span<const text::EmbeddingName> names) {
  const auto is = [&](size_t i, int32_t id) { return chunk[i].embedding < 0 && chunk[i].id == id; };
  size_t end = chunk.size();  // of the text: what follows is the end and padding
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

std::vector<ReadPrompt> read_prompt(const fs::path& model, std::string_view prompt, const PromptReading& reading) {
  const Request request{.prompt_syntax = reading.syntax, .emphasis = reading.emphasis};
  const PromptSyntax how = api::syntax_of(request);
  const Emphasis emphasis = api::emphasis_of(request);
  if (reading.steps < 1) fail<UsageError>("read_prompt: {} steps, needed at least 1", reading.steps);
  const auto device = make_backend({.name = "reference", .threads = 1});
  models::ImageRequest named{.syntax = how};
  for (const Embedding& e : reading.embeddings) named.embeddings.push_back({.file = e.file, .name = e.name});
  std::vector<ReadPrompt> all;
  for (const models::PromptEncoder& encoder : encoders_of(model, reading)) {
    std::vector<text::EmbeddingName> names;
    models::read_embeddings(named, encoder.embedding, encoder.width, *device, names);
    const text::ClipTokenizer tokenizer = text::tokenizer_for(how, encoder.tokenizer);
    const text::Prompt read = text::read_prompt(prompt, text::PromptRole::positive,
                                                {.syntax = how, .emphasis = emphasis, .steps = reading.steps}, tokenizer, names);
    ReadPrompt& out = all.emplace_back(ReadPrompt{.encoder = encoder.name, .warnings = read.warnings});
    for (const text::Condition& condition : read.conditions) {
      PromptCondition& c = out.conditions.emplace_back(PromptCondition{.weight = condition.weight});
      for (const text::PromptEntry& entry : condition.entries) {
        PromptText& t = c.texts.emplace_back(PromptText{.end = entry.end, .text = entry.text});
        for (const text::Chunk& chunk : entry.chunks) t.chunks.push_back(tokens_of(chunk, tokenizer, names));
      }
    }
  }
  return all;
}

}  // namespace hearth
