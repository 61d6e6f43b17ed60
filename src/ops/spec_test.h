// Helpers shared by the tests of the specs' fields.
#pragma once

#include <algorithm>

#include "ops/conv.h"
#include "ops/random_test.h"
#include "support/supported.h"

namespace hearth::test {

// A weight with these values in f32.
inline Weight weight_of(Backend& device, const Shape& shape, const std::vector<float>& values, WeightKind kind, int64_t groups = 1) {
  const WeightForm form{.groups = groups};
  const Tensor w = Tensor::from(device, shape, values);
  return {.name = "w", .shape = shape, .form = form, .prepared = device.prepare(w, kind, form), .backend = &device, .kind = kind};
}

// Expects y to be run(w) on the reference backend. If w has bf16 factors, a backend may round them to bf16 or not (WeightForm::factors).
template <class F> void expect_product(const Tensor& y, const Weight& w, double limit, F run) {
  Weight exact = w;
  exact.form.factors = DType::f32;
  const std::vector<float> values = y.to_vector();
  const double error = relative_error(values, run(w).to_vector());
  EXPECT_LE(error <= limit ? error : std::min(error, relative_error(values, run(exact).to_vector())), limit);
}

}  // namespace hearth::test
