// The published tensors as those of the network.
#pragma once

#include "core/files/config.h"
#include "weights/weights.h"

namespace hearth::models::internlm2 {

// X.wqkv as X.wq, X.wk and X.wv, weights and biases: copies of its rows.
std::shared_ptr<TensorSource> groups_apart(std::shared_ptr<TensorSource> published, const Config& config);

}  // namespace hearth::models::internlm2
