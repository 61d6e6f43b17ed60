#include "parts/decoder/causal_conv.h"

#include "ops/shape_ops.h"

namespace hearth::parts {

CausalConv::CausalConv(const Scope& w, int64_t channels, int64_t kernel, bool with_bias) {
  const Tensor stored = w.tensor("weight", {channels, 1, kernel});
  if (stored) taps = ops::contiguous(stored.view({channels, kernel}).permute({1, 0}));
  if (with_bias) bias = w.tensor("bias", {channels});
}

}  // namespace hearth::parts
