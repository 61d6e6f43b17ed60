#include "api/image/clip_source.h"
#include "backends/backends.h"
#include "core/error.h"
#include "hearth/prompt.h"
#include "hub/local_model.h"
#include "models/clip/prompt_reader.h"
#include "models/request.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

std::vector<std::unique_ptr<models::PromptReader>> readers_of(const fs::path& model, const PromptReading& reading) {
  if (api::is_image_model(model)) return api::prompt_readers(model, reading.config);
  if (!fs::is_directory(model))
    fail<UnsupportedError>("{}: cannot parse prompts, expected an image model or the folder of a CLIP tokenizer", model.string());
  if (!reading.config.empty())
    fail<UsageError>("{}: --config does not apply to a tokenizer's folder, expected a single file", model.string());
  if (!reading.embeddings.empty())
    fail<UsageError>("{}: embeddings do not apply to a tokenizer's folder, expected an image model", model.string());
  std::vector<std::unique_ptr<models::PromptReader>> readers;
  readers.push_back(std::make_unique<models::clip::ClipPromptReader>(text::ClipTokenizer::load(model)));
  return readers;
}

}  // namespace

std::vector<ReadPrompt> read_prompt(const fs::path& model, std::string_view prompt, const PromptReading& reading) {
  const Request request{.prompt_syntax = reading.syntax, .emphasis = reading.emphasis};
  const PromptSyntax how = models::syntax_of(request);
  const Emphasis emphasis = models::emphasis_of(request);
  if (reading.steps < 1) fail<UsageError>("read_prompt: {} steps, expected at least 1", reading.steps);
  const auto device = make_backend({.name = "reference", .threads = 1});
  std::vector<ReadPrompt> all;
  for (const auto& reader : readers_of(hub::local_model(model), reading))
    all.push_back(reader->read(prompt, how, emphasis, reading, *device));
  return all;
}

}  // namespace hearth
