#include "models/clip/embeddings.h"

#include <algorithm>

#include "core/error.h"

namespace hearth::models::clip {

std::vector<TextualInversion> read_embeddings(std::span<const Embedding> files, text::PromptSyntax syntax, const std::string& encoder,
                                              int64_t width, Backend& device, std::vector<text::EmbeddingName>& names) {
  std::vector<TextualInversion> read;
  for (const Embedding& e : files) {
    TextualInversion& one = read.emplace_back(read_textual_inversion(e.file, encoder, width, device));
    const bool token = e.name.empty() && syntax == text::PromptSyntax::plain && !one.token.empty();
    const std::string name = !e.name.empty() ? e.name : token ? one.token : e.file.stem().string();
    if (name.empty()) fail<UsageError>("generate: embedding {}: no name, expected one", e.file.string());
    if (std::ranges::find(names, name, &text::EmbeddingName::name) != names.end())
      fail<UsageError>("generate: two embeddings are named '{}', expected different names", name);
    names.push_back({.name = name, .vectors = one.vectors, .file_name = e.file.filename().string()});
  }
  return read;
}

}  // namespace hearth::models::clip
