#include "ops/select.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "ops/refusal_test.h"
#include "ops/spec_test.h"

namespace hearth {
namespace {

using test::Random;
using Values = std::vector<float>;
using Numbers = std::vector<int32_t>;

BACKEND_TEST(Select, embeds) {
  Random random(54);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const auto table = random.normal(device, {11, 19}, dtype);
    const std::vector<int32_t> ids{3, 0, 10, 3, 7, 1};
    const Tensor y = ops::embedding(ids, table.device);
    EXPECT_EQ(y.shape(), (Shape{6, 19}));
    EXPECT_EQ(y.to_vector(), ops::embedding(ids, table.reference).to_vector());
    EXPECT_THROW(ops::embedding(std::array{11}, table.device), ShapeError);
    EXPECT_THROW(ops::embedding(std::array{-1}, table.device), ShapeError);
  }
  const Tensor table = random.normal(device, {5, 4}).device, turned = table.permute({1, 0});
  const std::array one{1};
  EXPECT_EQ(ops::embedding(one, turned).to_vector(), turned.slice(0, 1, 2).to_vector());
  EXPECT_EQ(ops::embedding(one, Tensor::zeros(device, {5, 0})).shape(), (Shape{1, 0}));
  EXPECT_EQ(ops::embedding({}, table).shape(), (Shape{0, 4}));
  const Tensor integers = Tensor::from(device, {2, 2}, std::vector<int32_t>{0, 1, 2, 3});
  EXPECT_EQ(test::refusal([&] { ops::embedding(one, integers); }), "embedding: x [2, 2] is i32, expected f32, f16 or bf16");
}

// Bit-identical, with many equal values.
BACKEND_TEST(Select, top_k_equals_the_reference) {
  Random random(55);
  for (int round = 0; round < 60; ++round) {
    const int64_t R = random.between(1, 5), C = random.between(1, round % 5 == 0 ? 3000 : 60),
                  k = random.chance() ? random.between(1, C) : std::min<int64_t>(C, random.between(1, 8));
    const DType dtype = random.dtype();
    Values values;
    for (int64_t i = 0; i < R * C; ++i) values.push_back(float(random.between(-20, 20)) / (round % 3 == 0 ? 7 : 1));
    if (random.chance()) values[size_t(random.between(0, R * C - 1))] = NAN;
    if (random.chance()) values[size_t(random.between(0, R * C - 1))] = -INFINITY;
    const Tensor x = Tensor::from(device, {R, C}, values, dtype),
                 reference = Tensor::from(test::reference_backend(), {R, C}, values, dtype);
    SCOPED_TRACE(fmt::format("{} of {} {}", k, name_of(dtype), x.shape()));
    test::supported(device, [&] {
      const ops::TopK best = ops::top_k(x, k), right = ops::top_k(reference, k);
      EXPECT_EQ(best.values.dtype(), dtype);
      EXPECT_EQ(best.columns.dtype(), DType::i32);
      EXPECT_EQ(best.columns.to_vector(), right.columns.to_vector());
      for (size_t i = 0; i < size_t(R * k); ++i) {
        const float a = best.values.to_vector()[i], b = right.values.to_vector()[i];
        ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << i << ": " << a << " " << b;
      }
    });
  }
}

BACKEND_TEST(Select, top_k_known_answers) {
  const auto best = [&](const Values& x, int64_t k) { return ops::top_k(Tensor::from(device, {int64_t(x.size())}, x), k); };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  test::supported(device, [&] {
    EXPECT_EQ(best({3, 9, -1, 9, 4}, 3).values.to_vector(), (Values{9, 9, 4}));
    EXPECT_EQ(best({3, 9, -1, 9, 4}, 3).columns.to_vector(), (Values{1, 3, 4}));
    EXPECT_EQ(best({0, -0.0f, 0}, 3).columns.to_vector(), (Values{0, 1, 2}));
    EXPECT_EQ(best({-infinity, -5, -infinity}, 3).columns.to_vector(), (Values{1, 0, 2}));
    EXPECT_EQ(best({infinity, NAN, 7, NAN}, 4).columns.to_vector(), (Values{1, 3, 0, 2}));
    EXPECT_TRUE(std::isnan(best({infinity, NAN, 7}, 1).values.to_vector()[0]));
    Values first_40(40);
    std::iota(first_40.begin(), first_40.end(), 0.0f);
    EXPECT_EQ(best(Values(100, 3.0f), 40).columns.to_vector(), first_40);
  });
  test::supported(device, [&] {  // any leading axes, and views
    const Tensor x = Tensor::from(device, {2, 3, 2}, Values{1, 2, 5, 4, 3, 6, 9, 8, 7, 0, 2, 1}), turned = x.permute({0, 2, 1});
    EXPECT_EQ(ops::top_k(x, 1).columns.shape(), (Shape{2, 3, 1}));
    EXPECT_EQ(ops::top_k(x, 1).values.to_vector(), (Values{2, 5, 6, 9, 7, 2}));
    EXPECT_EQ(ops::top_k(turned, 2).values.to_vector(), (Values{5, 3, 6, 4, 9, 7, 8, 1}));
    EXPECT_EQ(ops::top_k(turned, 2).columns.to_vector(), (Values{1, 2, 2, 1, 0, 1, 0, 2}));
  });
  EXPECT_EQ(ops::top_k(Tensor::zeros(device, {0, 4}), 2).values.shape(), (Shape{0, 2}));
  EXPECT_EQ(ops::top_k(Tensor::zeros(device, {0, 4}), 2).columns.shape(), (Shape{0, 2}));
}

// NaN propagates, also with the bits of 16-bit floats.
BACKEND_TEST(Select, gathers_rows_of_every_type) {
  Random random(56);
  const Numbers numbers{3, 0, 3, 6, 1};
  const Tensor rows = Tensor::from(device, {5}, numbers);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Tensor x = random.normal(device, {7, 11}, dtype).device;
    test::supported(device, [&] {
      const Tensor y = ops::gather(x, rows);
      EXPECT_EQ(y.shape(), (Shape{5, 11}));
      EXPECT_EQ(y.dtype(), dtype);
      for (int64_t m = 0; m < 5; ++m) {
        const int64_t row = numbers[size_t(m)];
        EXPECT_EQ(y.slice(0, m, m + 1).to_vector(), x.slice(0, row, row + 1).to_vector()) << m;
      }
      EXPECT_EQ(ops::gather(x.permute({1, 0}), rows).slice(0, 0, 1).to_vector(), x.slice(1, 3, 4).to_vector());
    });
  }
  EXPECT_EQ(ops::gather(Tensor::zeros(device, {7, 3}), Tensor::from(device, {0}, Numbers{})).shape(), (Shape{0, 3}));
  EXPECT_EQ(ops::gather(Tensor::zeros(device, {7, 0}), rows).shape(), (Shape{5, 0}));
}

BACKEND_TEST(Select, adds_rows_like_the_reference) {
  Random random(57);
  for (int round = 0; round < 40; ++round) {
    const int64_t R = random.between(1, 9), M = random.between(0, 20), C = random.between(1, round % 5 == 0 ? 700 : 40);
    const DType dtype = random.dtype();
    const auto base = random.normal(device, {R, C}), x = random.normal(device, {M, C}, dtype), factors = random.normal(device, {M});
    Numbers numbers;
    for (int64_t m = 0; m < M; ++m) numbers.push_back(int32_t(random.between(0, R - 1)));
    const Tensor rows = Tensor::from(device, {M}, numbers), rows_truth = Tensor::from(test::reference_backend(), {M}, numbers);
    const bool weighted = random.chance();
    SCOPED_TRACE(fmt::format("base {} x {} {}", base.device.shape(), name_of(dtype), x.device.shape()));
    test::supported(device, [&] {
      EXPECT_CLOSE(ops::scatter_add(base.device, x.device, rows, weighted ? factors.device : Tensor()),
                   ops::scatter_add(base.reference, x.reference, rows_truth, weighted ? factors.reference : Tensor()), 2e-6);
    });
  }
}

BACKEND_TEST(Select, adds_rows_in_order) {
  const Tensor base = Tensor::from(device, {3, 2}, Values{1, 2, 3, 4, 5, 6}),
               x = Tensor::from(device, {3, 2}, Values{10, 20, 30, 40, 50, 60}), rows = Tensor::from(device, {3}, Numbers{2, 0, 2});
  test::supported(device, [&] {
    EXPECT_EQ(ops::scatter_add(base, x, rows).to_vector(), (Values{31, 42, 3, 4, 65, 86}));
    EXPECT_EQ(ops::scatter_add(base, x, rows, Tensor::from(device, {3}, Values{1, -1, 0.5f})).to_vector(),
              (Values{-29, -38, 3, 4, 40, 56}));
    EXPECT_EQ(base.to_vector(), (Values{1, 2, 3, 4, 5, 6}));  // not written to
    EXPECT_EQ(ops::scatter_add(base.permute({1, 0}).slice(1, 0, 2), x.slice(0, 0, 1), Tensor::from(device, {1}, Numbers{1})).to_vector(),
              (Values{1, 3, 12, 24}));
    // 2²⁴ + 1 − 2²⁴ in f32, in this order: 0; in any other: 1.
    const Tensor large = Tensor::from(device, {3, 1}, Values{0x1p24f, 1, -0x1p24f}), same = Tensor::from(device, {3}, Numbers{0, 0, 0});
    EXPECT_EQ(ops::scatter_add(Tensor::zeros(device, {1, 1}), large, same).to_vector(), (Values{0}));
    EXPECT_EQ(ops::scatter_add(base, Tensor::zeros(device, {0, 2}), Tensor::from(device, {0}, Numbers{})).to_vector(), base.to_vector());
  });
}

BACKEND_TEST(Select, refuses_invalid_arguments) {
  const auto zeros = [&](const Shape& shape, DType dtype = DType::f32) { return Tensor::zeros(device, shape, dtype); };
  const Tensor x = zeros({3, 4}), rows = Tensor::from(device, {3}, Numbers{0, 1, 2});
  for (const int64_t k : {0, 5, -1})
    EXPECT_EQ(test::refusal([&] { ops::top_k(x, k); }), fmt::format("top_k: k = {} for rows of x [3, 4], expected 1 to 4", k));
  EXPECT_EQ(test::refusal([&] { ops::top_k(zeros({}), 1); }), "top_k: x is [], expected [..., C]");
  EXPECT_EQ(test::refusal([&] { ops::top_k(rows, 1); }), "top_k: x [3] is i32, expected f32, f16 or bf16");

  EXPECT_EQ(test::refusal([&] { ops::gather(x, Tensor()); }), "gather: has no rows, expected i32 [M]");
  EXPECT_EQ(test::refusal([&] { ops::gather(x, zeros({3})); }), "gather: rows is f32 [3], expected i32 [M]");
  EXPECT_EQ(test::refusal([&] { ops::gather(x, zeros({1, 3}, DType::i32)); }), "gather: rows is i32 [1, 3], expected i32 [M]");
  EXPECT_EQ(test::refusal([&] { ops::gather(zeros({3, 4}, DType::i32), rows); }), "gather: x [3, 4] is i32, expected f32, f16 or bf16");
  EXPECT_EQ(test::refusal([&] { ops::gather(zeros({2, 3, 4}), rows); }), "tensor [2, 3, 4] has rank 3, expected rank 2");
  EXPECT_EQ(test::refusal([&] { ops::gather(x, Tensor::from(test::reference_backend(), {1}, Numbers{0})); }),
            fmt::format("gather: x is on the backend {}, another operand [1] on reference; expected all on one", device.name()));
  for (const int32_t row : {-1, 3}) {
    const Tensor outside = Tensor::from(device, {2}, Numbers{0, row});
    test::supported(device, [&] {
      EXPECT_EQ(test::refusal([&] { ops::gather(x, outside).to_vector(); }),
                fmt::format("gather: row {} does not exist, expected one of 3 rows", row));
    });
    test::supported(device, [&] {
      EXPECT_EQ(test::refusal([&] {
                  ops::scatter_add(x, zeros({2, 4}), outside).to_vector();
                }),
                fmt::format("scatter_add: row {} does not exist, expected one of 3 rows", row));
    });
  }

  const auto scatter = [&](const Tensor& base, const Tensor& parts, const Tensor& to, const Tensor& factors = {}) {
    return test::refusal([&] { ops::scatter_add(base, parts, to, factors); });
  };
  EXPECT_EQ(scatter(zeros({3, 5}), x, rows), "scatter_add: base f32 [3, 5] and x [3, 4] are incompatible, expected base f32 [R, 4]");
  EXPECT_EQ(scatter(zeros({3, 4}, DType::f16), x, rows),
            "scatter_add: base f16 [3, 4] and x [3, 4] are incompatible, expected base f32 [R, 4]");
  EXPECT_EQ(scatter(zeros({4}), x, rows), "scatter_add: base f32 [4] and x [3, 4] are incompatible, expected base f32 [R, 4]");
  EXPECT_EQ(scatter(Tensor(), x, rows), "scatter_add: has no base, expected f32 [R, 4]");
  EXPECT_EQ(scatter(x, x, Tensor()), "scatter_add: has no rows, expected i32 [3]");
  EXPECT_EQ(scatter(x, x, rows.slice(0, 0, 2)), "scatter_add: rows is i32 [2], expected i32 [3]");
  EXPECT_EQ(scatter(x, x, rows, zeros({2})), "scatter_add: factors is f32 [2], expected f32 [3]");
  EXPECT_EQ(scatter(x, zeros({3, 4}, DType::i32), rows), "scatter_add: x [3, 4] is i32, expected f32, f16 or bf16");
  EXPECT_EQ(scatter(x, x, Tensor::from(test::reference_backend(), {3}, Numbers{0, 0, 0})),
            fmt::format("scatter_add: x is on the backend {}, another operand [3] on reference; expected all on one", device.name()));
}

}  // namespace
}  // namespace hearth
