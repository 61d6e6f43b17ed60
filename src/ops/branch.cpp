#include "ops/branch.h"

#include "ops/check.h"
#include "ops/matmul.h"

namespace hearth::ops {

Weight without_branch(const Weight& w) {
  Weight alone = w;
  alone.branch = nullptr;
  return alone;
}

// Without an activation, gate · (acc + branch) + residual = gate · acc + (gate · branch + residual): one tensor less to read.
Epilogue with_branch(const Tensor& low, const Weight& w, const Epilogue& e) {
  const Weight& up = w.branch->up;
  Epilogue own = e;
  if (e.activation == Activation::none && w.kind != WeightKind::glu && !e.addend) {
    own.out = stored_type(low.backend(), low.shape().with_last(w.outputs()), e);
    own.residual = linear(low, up, {}, {.alpha = e.alpha, .gate = e.gate, .residual = e.residual, .out = DType::f32});
    return own;
  }
  own.addend = linear(low, up, {}, {.alpha = e.alpha, .per_image = e.per_image, .residual = e.addend, .out = DType::f32});
  own.per_image = {};
  return own;
}

}  // namespace hearth::ops
