#include "core/factors.h"

#include <cmath>

#include "core/backend.h"
#include "hearth/component.h"

namespace hearth {

DType asked_factors(Precision precision, bool in_place, const Backend& backend) {
  const DType unless_bf16 = in_place ? DType::i16 : DType::f32;
  switch (precision) {
    case Precision::f32:
    case Precision::f16: return DType::f32;
    case Precision::bf16: return backend.multiplies_bf16() ? DType::bf16 : unless_bf16;
    case Precision::automatic: break;
  }
  return unless_bf16;
}

bool can_have_factors(const WeightForm& form) {
  const bool blocks_in_place = form.in_place && is_blocked(form.hold);
  switch (form.factors) {
    case DType::f32: return true;
    case DType::bf16: return form.hold == DType::bf16 || (form.in_place && is_compact(form.hold));
    case DType::i16: return blocks_in_place;
    default: return false;
  }
}

DType factors_for(const WeightForm& form, bool exact) { return can_have_factors(form) && !exact ? form.factors : DType::f32; }

Stored queries_of(DType factors, float scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5f ? keys_of(factors) : Stored::inner;
}

bool multiplies(const Backend& backend, DType factors) {
  return factors == DType::f32 || (factors == DType::bf16 && backend.multiplies_bf16());
}

bool has_products(const Backend& backend, const WeightForm& form) {
  return can_have_factors(form) && (form.factors == DType::i16 || multiplies(backend, form.factors));
}

}  // namespace hearth
