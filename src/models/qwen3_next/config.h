// The config.json of a Qwen3-Next checkpoint, and its tensors as those of the network.
#pragma once

#include "models/qwen3_next/gated_delta_net.h"

namespace hearth::models::qwen3_next {

// Every key is read, declared to have no effect, or rejected by name. Defaults are those of transformers' Qwen3NextConfig.
parts::DecoderConfig read_config(const Config& config);

// in_proj_qkvz, in which the rows of each key head lie together, as in_proj_qkv (all queries, all keys, all values) and in_proj_z;
// conv1d.weight [channels, 1, K] as [channels, K]; A_log as a = −exp(A_log). Without the layers that predict further tokens (mtp).
std::shared_ptr<TensorSource> present(std::shared_ptr<TensorSource> published, const Config& config);

}  // namespace hearth::models::qwen3_next
