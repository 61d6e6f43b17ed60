// Row selection, top-k and pooling against the reference backend, bit-identical if nothing is rounded.
#include "ops/select.h"

#include <cmath>

#include "core/error.h"
#include "ops/pool.h"
#include "ops/random_test.h"

namespace hearth {
namespace {

using test::Random;

std::vector<int32_t> integers(const Tensor& x) {
  const Tensor there = x.to(x.backend().host());
  return {there.data<int32_t>(), there.data<int32_t>() + x.numel()};
}

// Values with many ties, both zeros, infinities and NaN.
HOST_TEST(CpuSelect, top_k_of_each_row_with_ties) {
  Random random(71);
  for (int round = 0; round < 60; ++round) {
    const int64_t R = random.between(1, 6), C = random.between(1, round % 4 == 0 ? 5000 : 40), k = random.between(1, C);
    const DType type = random.dtype();
    std::vector<float> values;
    for (int64_t i = 0; i < R * C; ++i) values.push_back(float(random.between(-9, 9)));
    for (int64_t i = 0; i < R * C; i += 7)
      values[size_t(i)] = std::array{NAN, INFINITY, -INFINITY, -0.0f, 0.0f}[size_t(random.between(0, 4))];
    const auto got = ops::top_k(Tensor::from(device, {R, C}, values, type), k),
               right = ops::top_k(Tensor::from(test::reference_backend(), {R, C}, values, type), k);
    ASSERT_EQ(integers(got.columns), integers(right.columns)) << R << " × " << C << ", " << k;
    const std::vector<float> a = got.values.to_vector(), b = right.values.to_vector();
    for (size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << i;
  }
}

HOST_TEST(CpuSelect, rows_are_gathered_and_added_in_order) {
  Random random(72);
  for (int round = 0; round < 40; ++round) {
    const int64_t R = random.between(1, 9), C = random.between(1, round % 4 == 0 ? 1000 : 40), M = random.between(1, 50);
    const DType type = random.dtype();
    const auto x = random.normal(device, {R, C}, type), added = random.normal(device, {M, C}, type), base = random.normal(device, {R, C}),
               factors = random.normal(device, {M});
    std::vector<int32_t> rows;
    for (int64_t m = 0; m < M; ++m) rows.push_back(int32_t(random.between(0, R - 1)));
    const Tensor own = Tensor::from(device, {M}, rows), right = Tensor::from(test::reference_backend(), {M}, rows);
    EXPECT_EQ(ops::gather(x.device, own).to_vector(), ops::gather(x.reference, right).to_vector());
    EXPECT_CLOSE(ops::scatter_add(base.device, added.device, own, factors.device),
                 ops::scatter_add(base.reference, added.reference, right, factors.reference), 2e-6);
    EXPECT_CLOSE(ops::scatter_add(base.device, added.device, own), ops::scatter_add(base.reference, added.reference, right), 2e-6);
  }
  const Tensor x = random.normal(device, {3, 4}).device;
  EXPECT_THROW(ops::gather(x, Tensor::from(device, {1}, std::vector<int32_t>{3})).to_vector(), ShapeError);
  EXPECT_THROW(ops::scatter_add(x, x, Tensor::from(device, {3}, std::vector<int32_t>{0, -1, 2})).to_vector(), ShapeError);
}

HOST_TEST(CpuPool, over_one_to_three_axes) {
  Random random(73);
  for (int round = 0; round < 60; ++round) {
    const int axes = 1 + round % 3;
    Shape shape{random.between(1, 2)};
    PoolSpec spec{.kind = random.chance() ? PoolSpec::Kind::average : PoolSpec::Kind::largest};
    PoolSpec::Axis* const all[] = {&spec.frames, &spec.rows, &spec.columns};
    for (int i = 0; i < axes; ++i) {
      PoolSpec::Axis& axis = *all[3 - axes + i];
      axis.size = random.between(1, 4), axis.stride = random.between(1, 3);
      axis.before = random.between(0, axis.size - 1), axis.after = random.between(0, axis.size - 1);
      shape.push_back(random.between(4, axes == 1 ? 40 : 8));
    }
    shape.push_back(random.between(1, round % 5 == 0 ? 1500 : 20));
    const DType type = random.dtype();
    SCOPED_TRACE(fmt::format("{} {}", name_of(type), shape));
    const auto x = random.normal(device, shape, type);
    EXPECT_CLOSE(ops::pool(x.device, spec), ops::pool(x.reference, spec), test::op_tolerance(type));
  }
  const Tensor holes = Tensor::from(device, {1, 4, 1}, std::vector<float>{NAN, 1, 2, -INFINITY});
  const std::vector<float> largest = ops::pool(holes, {.kind = PoolSpec::Kind::largest, .columns = {.size = 2}}).to_vector();
  EXPECT_TRUE(std::isnan(largest[0]) && largest[1] == 2 && largest[2] == 2);
}

}  // namespace
}  // namespace hearth
