// What stands behind a LanguageModel, and how an answer comes out of it.
#pragma once

#include <map>

#include "core/backend.h"
#include "hearth/language.h"
#include "models/language_model.h"
#include "sampling/tokens/generation_defaults.h"
#include "text/tokenizer/tokenizer.h"

namespace hearth::api {

struct LanguageState {
  std::filesystem::path root;
  std::unique_ptr<Backend> device;
  std::unique_ptr<models::LanguageModel> model;
  sampling::GenerationDefaults defaults;
  DType cache_type = DType::f32;
  int64_t weight_bytes = 0;
  double load_seconds = 0;

  // The text of the last run: the next one goes on where the two begin to differ.
  std::unique_ptr<models::TextState> text;
  std::vector<int32_t> fed;  // the tokens that `text` has seen

  std::optional<text::GgufVocabulary> vocabulary;     // of a GGUF file
  std::map<std::string, std::string> chat_templates;  // of a GGUF file, by name

  // Read when first asked for. IoError where the checkpoint has none.
  const text::Tokenizer& tokenizer() const;
  bool has_tokenizer() const;

 private:
  mutable std::optional<text::Tokenizer> tokenizer_;
};

LanguageModel::Plan plan(const LanguageState& state, const CompletionRequest& request);
Completion complete(LanguageState& state, const CompletionRequest& request);
Perplexity perplexity(LanguageState& state, const PerplexityRequest& request);
std::string render(const LanguageState& state, const ChatMessages& chat);

}  // namespace hearth::api
