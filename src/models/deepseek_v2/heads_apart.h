// The published tensors as those of the network.
#pragma once

#include "core/files/config.h"
#include "weights/weights.h"

namespace hearth::models::deepseek_v2 {

// kv_b_proj as two matrices for each head: k_b.n, the transposed of the rows of its keys, and v_b.n, the rows of its values. Layers behind
// the last are left out if num_nextn_predict_layers says that they predict further tokens.
std::shared_ptr<TensorSource> heads_apart(std::shared_ptr<TensorSource> published, const Config& config);

}  // namespace hearth::models::deepseek_v2
