// What tests of the specs' fields share.
#pragma once

#include "ops/conv.h"
#include "ops/random_test.h"
#include "support/supported.h"

namespace hearth::test {

// Whether the backend has convolutions over other than two axes. One that has them over three has them over one.
inline bool has_all_axes(Backend& device) {
  return supported(device, [&] {
    const Weight one = Random(1).weight(device, {1, 1, 1, 1, 1}, WeightKind::conv, {}).device;
    ops::conv(Tensor::zeros(device, {1, 1, 1, 1, 1}), one, {}, {});
  });
}

}  // namespace hearth::test
