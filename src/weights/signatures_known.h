// The rest of weights/signatures.h: what is named and not run.
#pragma once

#include "weights/signatures.h"

namespace hearth {

std::vector<Recognised> recognise_known(const std::map<std::string, TensorInfo>& tensors);

}  // namespace hearth
