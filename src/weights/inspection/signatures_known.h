// The rest of weights/inspection/signatures.h: what is named and not run.
#pragma once

#include "weights/inspection/signatures.h"

namespace hearth {

// Of families that are told apart by their sizes.
const std::vector<Signature>& known_signatures();

// Of those that are told by names alone; adapters and embeddings.
std::vector<Recognized> recognize_known(const std::map<std::string, TensorInfo>& tensors);

}  // namespace hearth
