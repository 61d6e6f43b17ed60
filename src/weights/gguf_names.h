// How GGUF files of decoder-only language models call the published tensors.
#pragma once

#include <span>

#include "weights/aliases.h"

namespace hearth {

// "blk.3.attn_q.weight" ↔ "model.layers.3.self_attn.q_proj.weight", for Llama, Mistral, Qwen 2 and Qwen 3. Names only: in files of the
// architecture `llama` the rows of q and k lie in another order (halves of a head as adjacent pairs).
std::span<const Alias> gguf_decoder_names();

}  // namespace hearth
