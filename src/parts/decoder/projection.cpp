#include "parts/decoder/projection.h"

namespace hearth::parts {

Projection::Projection(const Scope& w, int64_t in, int64_t out, bool with_bias, float scale_)
    : weight(w.linear("weight", out, in)), bias(with_bias ? w.tensor("bias", {out}) : Tensor()), scale(scale_) {
  if (bias && scale != 1) bias = ops::scaled(bias, scale, 0);
}

Projection::Projection(const Scope& w, int64_t in, int64_t first, int64_t out, int64_t all, bool with_bias)
    : weight(w.linear_rows("weight", all, in, {first, first + out})) {
  if (!with_bias) return;
  const Tensor whole = w.tensor("bias", {all});
  if (whole) bias = whole.slice(0, first, first + out);
}

}  // namespace hearth::parts
