#include "ops/pool.h"

#include <limits>

#include "ops/refusal_test.h"
#include "ops/spec_test.h"

namespace hearth {
namespace {

using test::Random;
using Values = std::vector<float>;
constexpr auto largest = PoolSpec::Kind::largest;

BACKEND_TEST(Pool, equals_the_reference_over_one_to_three_axes) {
  Random random(121);
  for (int round = 0; round < 90; ++round) {
    const int axes = round % 3 + 1;
    PoolSpec spec{.kind = random.chance() ? largest : PoolSpec::Kind::average};
    Shape shape{random.between(1, 2)};
    PoolSpec::Axis* const all[] = {&spec.frames, &spec.rows, &spec.columns};
    for (int i = 0; i < axes; ++i) {
      PoolSpec::Axis& a = *all[3 - axes + i];
      const int64_t size = random.between(1, 4);
      a = {.size = size, .stride = random.between(1, 4), .before = random.between(0, size - 1), .after = random.between(0, size - 1)};
      shape.push_back(random.between(std::max<int64_t>(1, size - a.before - a.after), 9));
    }
    shape.push_back(random.between(1, round % 4 == 0 ? 70 : 9));
    const DType dtype = random.dtype();
    const auto x = random.normal(device, shape, dtype);
    SCOPED_TRACE(fmt::format("x {} {} {}", name_of(dtype), shape, spec.kind == largest ? "largest" : "average"));
    test::supported(device, [&] {
      const Tensor y = ops::pool(x.device, spec);
      EXPECT_EQ(y.dtype(), dtype);
      EXPECT_CLOSE(y, ops::pool(x.reference, spec), spec.kind == largest ? 0 : test::op_tolerance(dtype));
    });
  }
}

BACKEND_TEST(Pool, known_answers) {
  const Tensor line = Tensor::from(device, {1, 4, 1}, Values{-8, -4, -2, -6});
  const auto over = [&](const PoolSpec& spec) { return ops::pool(line, spec).to_vector(); };
  test::supported(device, [&] { EXPECT_EQ(over({}), (Values{-8, -4, -2, -6})); });
  test::supported(device, [&] { EXPECT_EQ(over({.columns = {.size = 2}}), (Values{-6, -3, -4})); });
  test::supported(device, [&] { EXPECT_EQ(over({.columns = {.size = 2, .stride = 3}}), (Values{-6})); });
  // An average counts the positions beyond the edges as zeros; a maximum ignores them.
  test::supported(device, [&] { EXPECT_EQ(over({.columns = {.size = 2, .stride = 2, .before = 1, .after = 1}}), (Values{-4, -3, -3})); });
  test::supported(device, [&] {
    EXPECT_EQ(over({.kind = largest, .columns = {.size = 3, .stride = 2, .before = 2}}), (Values{-8, -2}));
    EXPECT_EQ(over({.kind = largest, .columns = {.size = 2, .stride = 1, .after = 1}}), (Values{-4, -2, -2, -6}));
  });
  // Rows and columns of two channels, each channel alone.
  test::supported(device, [&] {
    const Tensor plane = Tensor::from(device, {1, 2, 3, 2}, Values{1, 60, 2, 50, 3, 40, 4, 30, 5, 20, 6, 10});
    const PoolSpec spec{.kind = largest, .rows = {.size = 2}, .columns = {.size = 2}};
    EXPECT_EQ(ops::pool(plane, spec).to_vector(), (Values{5, 60, 6, 50}));
    EXPECT_EQ(ops::pool(plane, {.columns = {.size = 3}}).to_vector(), (Values{2, 50, 5, 20}));
  });
}

BACKEND_TEST(Pool, accepts_views_and_propagates_non_finite_values) {
  Random random(122);
  const Tensor x = random.normal(device, {2, 3, 5, 6}).device, view = x.permute({0, 2, 3, 1}),
               dense = Tensor::from(device, view.shape(), view.to_vector());
  const PoolSpec spec{.rows = {.size = 2, .stride = 2}, .columns = {.size = 3}};
  test::supported(device, [&] { EXPECT_EQ(ops::pool(view, spec).to_vector(), ops::pool(dense, spec).to_vector()); });
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  // A window that contains a NaN yields NaN.
  for (const auto kind : {PoolSpec::Kind::average, largest})
    for (const Values& values : {Values{1, nan, 2, 3}, Values{7, 1, nan, 3}})
      test::supported(device, [&] {
        const Tensor x4 = Tensor::from(device, {1, 4, 1}, values);
        EXPECT_EQ(count_non_finite(ops::pool(x4, {.kind = kind, .columns = {.size = 3}})), 2);
        EXPECT_EQ(count_non_finite(ops::pool(x4, {.kind = kind, .columns = {.size = 2}})), 2);
      });
  test::supported(device, [&] {
    const Tensor lowest = Tensor::from(device, {1, 2, 1}, Values{-infinity, -infinity});
    EXPECT_EQ(ops::pool(lowest, {.kind = largest, .columns = {.size = 2}}).to_vector(), (Values{-infinity}));
  });
}

BACKEND_TEST(Pool, refuses_invalid_arguments) {
  const auto refusal = [&](const Shape& x, const PoolSpec& spec, DType dtype = DType::f32) {
    return test::refusal([&] { ops::pool(Tensor::zeros(device, x, dtype), spec); });
  };
  EXPECT_EQ(refusal({2, 3}, {}), "pool: x is [2, 3], expected [B, …, C] with one to three axes between");
  EXPECT_EQ(refusal({1, 2, 2, 2, 2, 3}, {}), "pool: x is [1, 2, 2, 2, 2, 3], expected [B, …, C] with one to three axes between");
  EXPECT_EQ(refusal({1, 4, 3}, {.columns = {.size = 5}}), "pool: a window of 5 with stride 1 and padding 0, 0 is invalid for x [1, 4, 3]");
  for (const PoolSpec::Axis& axis :
       {PoolSpec::Axis{.size = 0}, PoolSpec::Axis{.stride = 0}, PoolSpec::Axis{.size = 2, .before = -1},
        PoolSpec::Axis{.size = 2, .after = -1}, PoolSpec::Axis{.size = 2, .before = 2}, PoolSpec::Axis{.size = 2, .after = 2}})
    EXPECT_EQ(refusal({1, 4, 5, 3}, {.rows = axis}),
              fmt::format("pool: a window of {} with stride {} and padding {}, {} is invalid for x [1, 4, 5, 3]", axis.size, axis.stride,
                          axis.before, axis.after));
  EXPECT_EQ(refusal({1, 0, 3}, {.columns = {.size = 2, .before = 1, .after = 1}}),
            "pool: a window of 2 with stride 1 and padding 1, 1 is invalid for x [1, 0, 3]");
  EXPECT_EQ(refusal({1, 4, 3}, {}, DType::i32), "pool: x [1, 4, 3] is i32, expected f32, f16 or bf16");
  test::supported(device, [&] {
    EXPECT_EQ(ops::pool(Tensor::zeros(device, {0, 4, 3}), {.columns = {.size = 2}}).shape(), (Shape{0, 3, 3}));
  });
}

}  // namespace
}  // namespace hearth
