// Which factors a product has: the type that both sides of its multiplications are rounded to (docs/numerics.md). This is decided here and
// nowhere else, in three steps: a precision asks for factors (asked_factors), each weight gets them where it can have them (factors_for),
// and of a weight that is held in place they also depend on how many rows it meets (factors_of).
#pragma once

#include "core/weight.h"

namespace hearth {

enum class Precision;  // hearth/component.h

// What a precision asks of a component's weights. `in_place`: they stay in their file (WeightForm::in_place).
//   f32, f16    f32
//   automatic   f32; in place i16
//   bf16        bf16 where the backend multiplies it, else f32; in place i16
DType asked_factors(Precision precision, bool in_place, const Backend& backend);

// Whether a weight so held can have the form's factors.
//   f32    always
//   bf16   held as bf16; in place also of a block type
//   i16    in place, of a block type
bool can_have_factors(const WeightForm& form);

// The factors of a weight: those that `form` asks for, and f32 where it cannot have them or where they are to be exact (Scope::exact).
DType factors_for(const WeightForm& form, bool exact = false);

// Of the left side, which a weight in place meets in products of bf16; fewer meet its rows one by one, as these come from memory.
inline constexpr int64_t fewest_bf16_rows = 16;

// The factors of a product whose left side has `rows` rows. They are those of the weight, with one exception: a weight of blocks that has
// bf16 factors is multiplied with i16 factors when there are fewer than fewest_bf16_rows.
inline DType factors_of(const WeightForm& form, int64_t rows) {
  const bool one_by_one = form.factors == DType::bf16 && is_blocked(form.hold) && rows < fewest_bf16_rows;
  return one_by_one ? DType::i16 : form.factors;
}

// Whether the backend multiplies such factors where no weight is held in place (of an attention, for one): f32, and bf16 where it has
// products of it.
bool multiplies(const Backend& backend, DType factors);

// Whether it has products with weights of such a form.
bool has_products(const Backend& backend, const WeightForm& form);

}  // namespace hearth
