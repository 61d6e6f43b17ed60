// A language model that is a parts::Decoder, for any config format.
#pragma once

#include <memory>

#include "models/language_model.h"
#include "parts/decoder/config.h"
#include "weights/weights.h"

namespace hearth::models {

// Tensor names are those of parts::Decoder.
std::unique_ptr<LanguageModel> make_decoder_model(const parts::DecoderConfig& config, Weights& weights);

}  // namespace hearth::models
