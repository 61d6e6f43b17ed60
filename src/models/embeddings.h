// The embeddings of a request, read and named.
#pragma once

#include <string>
#include <vector>

#include "models/text_to_image.h"
#include "weights/textual_inversion.h"

namespace hearth::models {

// The vectors of each file for one encoder; `names` gets what prompts call them. Errors of read_textual_inversion(); UsageError for two
// of one name and for one without a name.
std::vector<TextualInversion> read_embeddings(const ImageRequest& request, const std::string& encoder, int64_t width, Backend& device,
                                              std::vector<text::EmbeddingName>& names);

}  // namespace hearth::models
