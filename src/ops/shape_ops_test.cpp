#include "ops/shape_ops.h"

#include "ops/random_test.h"

namespace hearth {
namespace {

using test::Random;

BACKEND_TEST(shape_ops, copies_any_strides_and_types) {
  Random random(51);
  for (int round = 0; round < 40; ++round) {
    const auto x =
        random.normal(device, {random.between(1, 4), random.between(1, 9), random.between(1, 9), random.between(1, 40)}, random.dtype());
    SCOPED_TRACE(fmt::format("{} {}", name_of(x.device.dtype()), x.device.shape()));
    const Tensor turned = x.device.permute({0, 3, 1, 2});
    EXPECT_EQ(ops::contiguous(turned).to_vector(), turned.to_vector());
    EXPECT_EQ(ops::to_channels_last(ops::to_channels_first(x.device)).to_vector(), x.device.to_vector());
    EXPECT_EQ(ops::to_channels_first(x.device).to_vector(), ops::to_channels_first(x.truth).to_vector());
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      EXPECT_EQ(ops::cast(x.device, dtype).to_vector(), ops::cast(x.truth, dtype).to_vector());
    const Tensor odd = x.device.permute({2, 1, 3, 0}).slice(2, 0, 1);
    EXPECT_EQ(ops::contiguous(odd).to_vector(), odd.to_vector());
  }
}

BACKEND_TEST(shape_ops, joins_and_repeats) {
  Random random(52);
  const auto a = random.normal(device, {2, 3, 5}), b = random.normal(device, {2, 3, 4}), c = random.normal(device, {1, 3, 5});
  const Tensor channels = ops::concat({a.device, b.device}, -1);
  EXPECT_EQ(channels.shape(), (Shape{2, 3, 9}));
  EXPECT_EQ(channels.slice(2, 0, 5).to_vector(), a.device.to_vector());  // the first stands first: (hidden, skip)
  EXPECT_EQ(channels.slice(2, 5, 9).to_vector(), b.device.to_vector());
  const Tensor batch = ops::concat({c.device, a.device}, 0);
  EXPECT_EQ(batch.slice(0, 0, 1).to_vector(), c.device.to_vector());
  EXPECT_EQ(batch.slice(0, 1, 3).to_vector(), a.device.to_vector());
  const Tensor twice = ops::repeat_batch(a.device, 2);
  EXPECT_EQ(twice.slice(0, 0, 2).to_vector(), a.device.to_vector());
  EXPECT_EQ(twice.slice(0, 2, 4).to_vector(), a.device.to_vector());
  EXPECT_THROW(ops::concat({a.device, b.device}, 0), ShapeError);
  EXPECT_THROW(ops::concat({a.device, Tensor::zeros(device, {2, 3, 5}, DType::f16)}, 2), ShapeError);
  EXPECT_THROW(ops::concat({a.device}, 3), ShapeError);
}

BACKEND_TEST(shape_ops, resizes_like_the_reference_for_every_size) {
  Random random(53);
  const auto x = random.normal(device, {1, 7, 5, 3});
  for (int64_t height = 1; height <= 30; ++height)
    EXPECT_EQ(ops::resize_nearest(x.device, height, 31 - height).to_vector(), ops::resize_nearest(x.truth, height, 31 - height).to_vector())
        << height;
  EXPECT_THROW(ops::resize_nearest(x.device, 0, 3), ShapeError);
}

BACKEND_TEST(shape_ops, embeds) {
  Random random(54);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const auto table = random.normal(device, {11, 19}, dtype);
    const std::vector<int32_t> ids{3, 0, 10, 3, 7, 1};
    const Tensor y = ops::embedding(Tensor::from(device, {2, 3}, ids), table.device);
    EXPECT_EQ(y.shape(), (Shape{2, 3, 19}));
    EXPECT_EQ(y.to_vector(), ops::embedding(Tensor::from(test::truth(), {2, 3}, ids), table.truth).to_vector());
    EXPECT_THROW(ops::embedding(Tensor::from(device, {1}, std::vector<int32_t>{11}), table.device), ShapeError);
    EXPECT_THROW(ops::embedding(Tensor::from(device, {1}, std::vector<int32_t>{-1}), table.device), ShapeError);
  }
}

}  // namespace
}  // namespace hearth
