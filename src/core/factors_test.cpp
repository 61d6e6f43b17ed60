#include "core/factors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
#include "hearth/component.h"

namespace hearth {
namespace {

// A backend with bf16 products, and one without.
const Backend& with() {
  static const auto backend = make_reference_backend(1);
  return *backend;
}
const Backend& without() {
  static const auto backend = make_cpu_backend("avx2", 1);
  return *backend;
}

TEST(Factors, are_requested_by_a_precision) {
  const struct {
    Precision precision;
    DType packed, packed_without, in_place, in_place_without;
  } rows[] = {{Precision::f32, DType::f32, DType::f32, DType::f32, DType::f32},
              {Precision::f16, DType::f32, DType::f32, DType::f32, DType::f32},
              {Precision::bf16, DType::bf16, DType::f32, DType::bf16, DType::i16},
              {Precision::automatic, DType::f32, DType::f32, DType::i16, DType::i16}};
  for (const auto& r : rows) {
    SCOPED_TRACE(int(r.precision));
    EXPECT_EQ(asked_factors(r.precision, false, with()), r.packed);
    EXPECT_EQ(asked_factors(r.precision, false, without()), r.packed_without);
    EXPECT_EQ(asked_factors(r.precision, true, with()), r.in_place);
    EXPECT_EQ(asked_factors(r.precision, true, without()), r.in_place_without);
  }
}

TEST(Factors, of_a_weight_fall_back_to_f32) {
  const struct {
    DType hold, requested;
    bool packed, in_place;  // whether it can have them
  } rows[] = {
      {DType::f32, DType::f32, true, true},      {DType::f16, DType::f32, true, true},       {DType::bf16, DType::f32, true, true},
      {DType::f32, DType::bf16, false, false},   {DType::f16, DType::bf16, false, false},    {DType::bf16, DType::bf16, true, true},
      {DType::q4_0, DType::bf16, false, true},   {DType::f32, DType::i16, false, false},     {DType::bf16, DType::i16, false, false},
      {DType::q4_0, DType::i16, false, true},    {DType::q6_k, DType::f32, true, true},      {DType::bf16, DType::f16, false, false},
      {DType::q4_0, DType::i8, false, false},    {DType::f8_e4m3, DType::bf16, false, true}, {DType::f8_e5m2, DType::f32, true, true},
      {DType::f8_e4m3, DType::i16, false, false}};
  for (const auto& r : rows)
    for (const bool in_place : {false, true}) {
      const WeightForm form{.hold = r.hold, .factors = r.requested, .in_place = in_place};
      const bool can = in_place ? r.in_place : r.packed;
      SCOPED_TRACE(fmt::format("{} with factors {}{}", name_of(r.hold), name_of(r.requested), in_place ? " in place" : ""));
      EXPECT_EQ(can_have_factors(form), can);
      EXPECT_EQ(factors_for(form), can ? r.requested : DType::f32);
      EXPECT_EQ(factors_for(form, true), DType::f32);
      EXPECT_EQ(has_products(with(), form), can);
      EXPECT_EQ(has_products(without(), form), can && r.requested != DType::bf16);
    }
}

TEST(Factors, of_block_types_with_few_rows_are_integers) {
  const auto of = [](DType hold, DType factors, int64_t rows) {
    return factors_of({.hold = hold, .factors = factors, .in_place = true}, rows);
  };
  for (const int64_t rows : {1, 15, 16, 512}) {
    SCOPED_TRACE(rows);
    EXPECT_EQ(of(DType::q4_0, DType::bf16, rows), rows < 16 ? DType::i16 : DType::bf16);
    EXPECT_EQ(of(DType::q4_0, DType::i16, rows), DType::i16);
    EXPECT_EQ(of(DType::q4_0, DType::f32, rows), DType::f32);
    EXPECT_EQ(of(DType::bf16, DType::bf16, rows), DType::bf16);
    EXPECT_EQ(of(DType::f16, DType::f32, rows), DType::f32);
  }
}

TEST(Factors, of_all_readers_of_a_result) {
  const Weight bf16{.form = {.hold = DType::bf16, .factors = DType::bf16}}, f32{.form = {.hold = DType::bf16}},
      blocks{.form = {.hold = DType::q4_0, .factors = DType::bf16, .in_place = true}},
      integers{.form = {.hold = DType::q4_0, .factors = DType::i16, .in_place = true}};
  Weight with_branch = bf16;
  with_branch.branch = std::make_shared<const WeightBranch>();
  const auto is = [](const Stored& s, DType few, DType many) { return s.inside && s.few == few && s.many == many; };
  EXPECT_TRUE(is(read_by(bf16), DType::bf16, DType::bf16));
  EXPECT_TRUE(is(read_by(bf16, bf16), DType::bf16, DType::bf16));
  EXPECT_TRUE(is(read_by(bf16, f32), DType::f32, DType::f32));
  EXPECT_TRUE(is(read_by(f32, bf16), DType::f32, DType::f32));
  EXPECT_TRUE(is(read_by(bf16, blocks), DType::f32, DType::bf16));
  EXPECT_TRUE(is(in_parts(read_by(bf16, blocks)), DType::f32, DType::f32));
  EXPECT_TRUE(is(read_by(integers), DType::f32, DType::f32));
  EXPECT_TRUE(is(read_by(with_branch), DType::f32, DType::f32));
  EXPECT_TRUE(is(keys_of(DType::bf16), DType::bf16, DType::bf16));
  EXPECT_TRUE(is(queries_of(DType::bf16, 0.125f), DType::bf16, DType::bf16));
  EXPECT_TRUE(is(queries_of(DType::bf16, 1 / std::sqrt(40.0f)), DType::f32, DType::f32));
}

TEST(Factors, without_a_weight_in_place_they_are_f32_or_bf16) {
  EXPECT_TRUE(multiplies(with(), DType::f32) && multiplies(without(), DType::f32));
  EXPECT_TRUE(multiplies(with(), DType::bf16));
  EXPECT_FALSE(multiplies(without(), DType::bf16));
  for (const DType factors : {DType::i16, DType::f16, DType::i8}) EXPECT_FALSE(multiplies(with(), factors)) << name_of(factors);
}

}  // namespace
}  // namespace hearth
