// The config.json of an RWKV-6 checkpoint, and its tensors as those of the network.
#pragma once

#include "parts/decoder/config.h"

namespace hearth::models::rwkv6 {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of the published Rwkv6Config.
parts::DecoderConfig read_config(const Config& config);

// Shifts as one tensor time_maa [5, 1, 1, C] in the order w, k, v, r, g; low-rank factors as matrices [out, in]; vectors without further
// axes.
std::shared_ptr<TensorSource> present(std::shared_ptr<TensorSource> published, const Config& config);

}  // namespace hearth::models::rwkv6
