#include "parts/decoder/token_shift.h"

#include "ops/pointwise.h"
#include "ops/shape_ops.h"

namespace hearth::parts {

Tensor token_shift(const Tensor& x, const Tensor& last) {
  const int64_t T = x.size(0);
  const Tensor before = T == 1 ? last : ops::concat({last, x.slice(0, 0, T - 1)}, 0);
  const Tensor difference = ops::linear_combination({before, x}, {1, -1});
  ops::store(x.slice(0, T - 1, T), last);
  return difference;
}

}  // namespace hearth::parts
