// A file whose network shares tensors with another network.
#pragma once

#include <functional>

#include "weights/weights.h"

namespace hearth {

// The source, with those tensors of `other` whose names satisfy `shares` and that it lacks itself. WeightError if `other` has none of them.
std::shared_ptr<TensorSource> completed(std::shared_ptr<TensorSource> source, std::shared_ptr<TensorSource> other,
                                        const std::function<bool(const std::string& name)>& shares);

}  // namespace hearth
