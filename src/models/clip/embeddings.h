// The embeddings (textual inversion) of a request, read and named.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/image_model.h"
#include "weights/textual_inversion.h"

namespace hearth::models::clip {

// The vectors of each file for one encoder; `names` receives the names by which prompts refer to them. Errors of
// read_textual_inversion(); UsageError for two embeddings of one name and for one without a name.
std::vector<TextualInversion> read_embeddings(std::span<const Embedding> files, text::PromptSyntax syntax, const std::string& encoder,
                                              int64_t width, Backend& device, std::vector<text::EmbeddingName>& names);

}  // namespace hearth::models::clip
