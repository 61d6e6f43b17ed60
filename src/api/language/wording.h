// A language model's tokenizer and chat templates.
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "hearth/language.h"
#include "text/template/chat_template.h"
#include "text/tokenizer/tokenizer.h"
#include "weights/gguf/gguf_metadata.h"

namespace hearth::api {

struct Wording {
  std::filesystem::path root;                         // a folder, or the folder of a GGUF file
  std::optional<text::GgufVocabulary> vocabulary;     // of a GGUF file
  std::map<std::string, std::string> chat_templates;  // of a GGUF file, by name

  static Wording of_folder(const std::filesystem::path& folder) { return {.root = folder}; }
  static Wording of_gguf(const std::filesystem::path& folder, const GgufMetadata& metadata);

  // Read on first use. IoError if the checkpoint has none.
  const text::Tokenizer& tokenizer() const;
  bool has_tokenizer() const;
  std::string render(const ChatMessages& chat) const;
  // WeightError, UnsupportedError or IoError if the checkpoint has none that can be used.
  text::ChatTemplate chat_template() const;
  std::string template_source(const std::string& name = "default") const;  // empty if there is none
  // Token ids of a rendered chat; adds no tokens.
  std::vector<int32_t> ids_of(const std::string& rendered) const;

  mutable std::optional<text::Tokenizer> read;  // the tokenizer, once read
};

}  // namespace hearth::api
