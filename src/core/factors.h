// The factors of a product: the dtype to which both sides are rounded before they are multiplied (docs/numerics.md). Only this file
// decides it, in three steps: a precision requests factors (asked_factors); each weight gets them if it can have them (factors_for); and
// for a weight that is held in place they also depend on the number of rows of the left side (factors_of).
#pragma once

#include "core/specs.h"

namespace hearth {

enum class Precision;  // hearth/component.h

// The factors that a precision requests for a component's weights. `in_place`: the weights stay in their file (WeightForm::in_place).
//   f32, f16    f32
//   automatic   f32; in place i16
//   bf16        bf16 if the backend multiplies it, else f32; in place i16
DType asked_factors(Precision precision, bool in_place, const Backend& backend);

// Whether a weight in this form can have the form's factors.
//   f32    always
//   bf16   held as bf16; in place also of a block type or an 8-bit float
//   i16    in place, of a block type
bool can_have_factors(const WeightForm& form);

// The factors of a weight: those that `form` requests, or f32 if it cannot have them or if they must be exact (Scope::exact).
DType factors_for(const WeightForm& form, bool exact = false);

// From this number of rows of the left side on, a weight in place is multiplied in bf16. With fewer, its rows are multiplied one by one, as
// they arrive from memory.
inline constexpr int64_t fewest_bf16_rows = 16;

// The factors of a product whose left side has `rows` rows. They are the weight's factors, with one exception: a weight of a block type
// that has bf16 factors is multiplied with i16 factors if there are fewer than fewest_bf16_rows.
inline DType factors_of(const WeightForm& form, int64_t rows) {
  const bool one_by_one = form.factors == DType::bf16 && is_blocked(form.hold) && rows < fewest_bf16_rows;
  return one_by_one ? DType::i16 : form.factors;
}

// A result inside a block that nothing but products with these weights reads.
template <class... More> Stored read_by(const Weight& w, const More&... more) {
  Stored stored{.inside = true, .few = DType::bf16, .many = DType::bf16};
  const auto add = [&](const Weight& one) {
    // A branch of a weight multiplies in f32.
    if (one.branch || factors_of(one.form, 1) != DType::bf16) stored.few = DType::f32;
    if (one.branch || factors_of(one.form, fewest_bf16_rows) != DType::bf16) stored.many = DType::f32;
  };
  (add(w), ..., add(more));
  return stored;
}
// The same if each of them reads only a part of the rows.
inline Stored in_parts(Stored stored) {
  stored.many = stored.few;
  return stored;
}
// One that nothing but an attention with these factors reads: as keys or values, which it rounds as they are; and as queries, which it
// multiplies with `scale` before, so that only a power of two leaves the rounded values the same.
inline Stored keys_of(DType factors) { return {.inside = true, .few = factors, .many = factors}; }
Stored queries_of(DType factors, float scale);

// Whether the backend supports these factors in products without a weight in place (such as attention): f32 always, bf16 if it has
// bf16 products.
bool multiplies(const Backend& backend, DType factors);

// Whether the backend has products with weights in this form.
bool has_products(const Backend& backend, const WeightForm& form);

}  // namespace hearth
