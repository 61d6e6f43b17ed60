// Language models as text encoders of image models: their configuration, which the family of that language model reads.
#pragma once

#include "parts/decoder/config.h"
#include "weights/checkpoint.h"

namespace hearth::models::language_encoder {

// The network of the component `name`, by `model_type` of its config.json, or of the `text_config` in it; what the rest of such a
// configuration says about images does not concern texts. UnsupportedError for a class or type that is no decoder of this build; errors of
// the family's reader.
parts::DecoderConfig decoder_of(const Checkpoint& checkpoint, std::string_view name);

}  // namespace hearth::models::language_encoder
