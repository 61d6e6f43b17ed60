// What GGUF files of language models have in place of config.json. Reference: ggml's keys (gguf-py/gguf/constants.py) and the values that
// its converter changes.
#pragma once

#include "core/config.h"
#include "weights/gguf.h"

namespace hearth {

// The config that the model's own config.json would have held, of the families llama, mistral (a llama with a window), qwen2 and qwen3.
// What only such files have is added under names of our own: rope_pairs "neighbours" (the rows of q and k are ordered for it), and
// rope_divisors, the contents of rope_freqs.weight. UnsupportedError for another architecture, WeightError for a key that is missing or
// cannot be.
Config gguf_config(const GgufFile& file);

}  // namespace hearth
