// What a language model's checkpoint says of text: its tokenizer and its chat templates.
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "hearth/language.h"
#include "text/tokenizer/tokenizer.h"
#include "weights/gguf/gguf_metadata.h"

namespace hearth::api {

struct Wording {
  std::filesystem::path root;                         // a folder, or that of a GGUF file
  std::optional<text::GgufVocabulary> vocabulary;     // of a GGUF file
  std::map<std::string, std::string> chat_templates;  // of a GGUF file, by name

  static Wording of_folder(const std::filesystem::path& folder) { return {.root = folder}; }
  static Wording of_gguf(const std::filesystem::path& folder, const GgufMetadata& metadata);

  // Read when first asked for. IoError where the checkpoint has none.
  const text::Tokenizer& tokenizer() const;
  bool has_tokenizer() const;
  std::string render(const ChatMessages& chat) const;
  // Of a rendered conversation: nothing is put before or behind it.
  std::vector<int32_t> ids_of(const std::string& rendered) const;

  mutable std::optional<text::Tokenizer> read;  // what tokenizer() has read
};

}  // namespace hearth::api
