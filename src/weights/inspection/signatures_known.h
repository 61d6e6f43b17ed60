// Signatures of networks that hearth recognizes but does not support; complements weights/inspection/signatures.h.
#pragma once

#include "weights/inspection/signatures.h"

namespace hearth {

// Families that are distinguished by their sizes.
const std::vector<Signature>& known_signatures();

// Networks that are recognized by names alone; adapters and embeddings.
std::vector<Recognized> recognize_known(const std::map<std::string, TensorInfo>& tensors);

}  // namespace hearth
