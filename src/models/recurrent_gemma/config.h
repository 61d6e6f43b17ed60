// The config.json of a RecurrentGemma checkpoint, and its tensors as those of the network.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::recurrent_gemma {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' RecurrentGemmaConfig.
parts::DecoderConfig read_config(const Config& config);

// The gates of the heads [N, W, W], of which each is [in, out], as matrices [out, in] of their own: rg_lru.input_gate.n,
// rg_lru.recurrent_gate.n.
std::shared_ptr<TensorSource> present(std::shared_ptr<TensorSource> published, const Config& config);

}  // namespace hearth::models::recurrent_gemma
