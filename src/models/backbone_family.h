// What the families share whose layers are a norm and a mixer each, under the names of the package mamba_ssm ("backbone.layers.#.mixer").
#pragma once

#include "models/decoder_family.h"

namespace hearth::models {

// Behind the family's own: keys, names and forms of its GGUF files.
GgufArchitecture backbone_gguf(GgufArchitecture own);
// For LanguageFamily::present: the authors' files have another name for the embeddings.
std::shared_ptr<TensorSource> with_backbone_names(std::shared_ptr<TensorSource> published, const Config& config);

}  // namespace hearth::models
