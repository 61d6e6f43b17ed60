#include "ops/select.h"

#include <cmath>

#include "ops/random_test.h"
#include "ops/refusal_test.h"

namespace hearth {
namespace {

using test::Random;

BACKEND_TEST(select, embeds) {
  Random random(54);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const auto table = random.normal(device, {11, 19}, dtype);
    const std::vector<int32_t> ids{3, 0, 10, 3, 7, 1};
    const Tensor y = ops::embedding(ids, table.device);
    EXPECT_EQ(y.shape(), (Shape{6, 19}));
    EXPECT_EQ(y.to_vector(), ops::embedding(ids, table.truth).to_vector());
    EXPECT_THROW(ops::embedding(std::array{11}, table.device), ShapeError);
    EXPECT_THROW(ops::embedding(std::array{-1}, table.device), ShapeError);
  }
  const Tensor table = random.normal(device, {5, 4}).device, turned = table.permute({1, 0});
  const std::array one{1};
  EXPECT_EQ(ops::embedding(one, turned).to_vector(), turned.slice(0, 1, 2).to_vector());
  EXPECT_EQ(ops::embedding(one, Tensor::zeros(device, {5, 0})).shape(), (Shape{1, 0}));
  EXPECT_EQ(ops::embedding({}, table).shape(), (Shape{0, 4}));
  const Tensor integers = Tensor::from(device, {2, 2}, std::vector<int32_t>{0, 1, 2, 3});
  EXPECT_EQ(test::refusal([&] { ops::embedding(one, integers); }), "embedding: x [2, 2] is i32, needed f32, f16 or bf16");
}

}  // namespace
}  // namespace hearth
