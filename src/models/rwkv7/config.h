// The config.json of an RWKV-7 checkpoint as flash-linear-attention writes it, and its tensors as those of the network.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::rwkv7 {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of flash-linear-attention's RWKV7Config.
parts::DecoderConfig read_config(const Config& config);

// Shifts as one tensor attn.x_x [6, 1, 1, C] in the order r, w, k, v, a, g; vectors without further axes; v_lora of layer 0, which no
// network reads and GGUF files have, as its a_lora.
std::shared_ptr<TensorSource> present(std::shared_ptr<TensorSource> published, const Config& config);

}  // namespace hearth::models::rwkv7
