#include "ops/shape_ops.h"

#include <cmath>

#include "core/quantized/blocks.h"
#include "ops/random_test.h"
#include "ops/refusal_test.h"

namespace hearth {
namespace {

using test::Random;

BACKEND_TEST(ShapeOps, copies_any_strides_and_types) {
  Random random(51);
  for (int round = 0; round < 40; ++round) {
    const auto x =
        random.normal(device, {random.between(1, 4), random.between(1, 9), random.between(1, 9), random.between(1, 40)}, random.dtype());
    SCOPED_TRACE(fmt::format("{} {}", name_of(x.device.dtype()), x.device.shape()));
    const Tensor turned = x.device.permute({0, 3, 1, 2});
    EXPECT_EQ(ops::contiguous(turned).to_vector(), turned.to_vector());
    EXPECT_EQ(ops::to_channels_last(ops::to_channels_first(x.device)).to_vector(), x.device.to_vector());
    EXPECT_EQ(ops::to_channels_first(x.device).to_vector(), ops::to_channels_first(x.reference).to_vector());
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      EXPECT_EQ(ops::cast(x.device, dtype).to_vector(), ops::cast(x.reference, dtype).to_vector());
    const Tensor odd = x.device.permute({2, 1, 3, 0}).slice(2, 0, 1);
    EXPECT_EQ(ops::contiguous(odd).to_vector(), odd.to_vector());
  }
}

BACKEND_TEST(ShapeOps, channels_move_to_either_end) {
  const Tensor x = Tensor::from(device, {1, 2, 1, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const Tensor last = ops::to_channels_last(x), first = ops::to_channels_first(x);
  EXPECT_EQ(last.shape(), (Shape{1, 1, 3, 2}));
  EXPECT_EQ(first.shape(), (Shape{1, 3, 2, 1}));
  EXPECT_TRUE(last.contiguous() && first.contiguous());
  EXPECT_EQ(last.to_vector(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(first.to_vector(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

BACKEND_TEST(ShapeOps, refuses_invalid_arguments) {
  const Tensor x = Tensor::zeros(device, {2, 3, 5}), whole = Tensor::zeros(device, {2, 3, 5}, DType::i32);
  EXPECT_EQ(test::refusal([&] { ops::cast(whole, DType::f32); }), "copy: x [2, 3, 5] is i32, expected f32, f16 or bf16");
  EXPECT_EQ(test::refusal([&] { ops::concat({}, 0); }), "concat: no tensors, expected at least one");
  EXPECT_EQ(test::refusal([&] { ops::concat({x, whole}, 0); }), "concat: x [2, 3, 5] is i32, expected f32, f16 or bf16");
  EXPECT_EQ(test::refusal([&] { ops::concat({whole, whole}, 0); }), "concat: x [2, 3, 5] is i32, expected f32, f16 or bf16");
  EXPECT_EQ(test::refusal([&] { ops::concat({x, Tensor()}, 0); }), "concat: x is undefined");
  for (const int axis : {3, -4})
    EXPECT_EQ(test::refusal([&] { ops::concat({x}, axis); }), "concat: the axis is out of range for [2, 3, 5]");
  EXPECT_EQ(test::refusal([&] {
              ops::concat({x, Tensor::zeros(device, {2, 3})}, 2);
            }),
            "concat: f32 [2, 3, 5] and f32 [2, 3] differ in more than axis 2");
  EXPECT_EQ(test::refusal([&] { ops::to_channels_last(x); }), "to_channels_last: x is [2, 3, 5], expected [B, C, H, W]");
  EXPECT_EQ(test::refusal([&] { ops::to_channels_first(x); }), "to_channels_first: x is [2, 3, 5], expected [B, H, W, C]");
  EXPECT_EQ(test::refusal([&] { ops::repeat_batch(x, 0); }), "repeat_batch: 0 times [2, 3, 5], expected at least once");
}

BACKEND_TEST(ShapeOps, joins_and_repeats) {
  Random random(52);
  const auto a = random.normal(device, {2, 3, 5}), b = random.normal(device, {2, 3, 4}), c = random.normal(device, {1, 3, 5});
  const Tensor channels = ops::concat({a.device, b.device}, -1);
  EXPECT_EQ(channels.shape(), (Shape{2, 3, 9}));
  EXPECT_EQ(channels.slice(2, 0, 5).to_vector(), a.device.to_vector());  // in the given order: (hidden, skip)
  EXPECT_EQ(channels.slice(2, 5, 9).to_vector(), b.device.to_vector());
  const Tensor batch = ops::concat({c.device, a.device}, 0);
  EXPECT_EQ(batch.slice(0, 0, 1).to_vector(), c.device.to_vector());
  EXPECT_EQ(batch.slice(0, 1, 3).to_vector(), a.device.to_vector());
  const Tensor half = Tensor::zeros(device, {2, 3}, DType::f16);
  EXPECT_EQ(ops::concat({half, half}, 0).dtype(), DType::f16);
  const Tensor twice = ops::repeat_batch(a.device, 2);
  EXPECT_EQ(twice.slice(0, 0, 2).to_vector(), a.device.to_vector());
  EXPECT_EQ(twice.slice(0, 2, 4).to_vector(), a.device.to_vector());
  EXPECT_THROW(ops::concat({a.device, b.device}, 0), ShapeError);
  EXPECT_THROW(ops::concat({a.device, Tensor::zeros(device, {2, 3, 5}, DType::f16)}, 2), ShapeError);
}

BACKEND_TEST(ShapeOps, resizes_like_the_reference_for_every_size) {
  Random random(53);
  const auto x = random.normal(device, {1, 7, 5, 3});
  for (int64_t height = 1; height <= 30; ++height)
    EXPECT_EQ(ops::resize_nearest(x.device, height, 31 - height).to_vector(),
              ops::resize_nearest(x.reference, height, 31 - height).to_vector())
        << height;
  const Tensor view = x.device.permute({0, 2, 1, 3}), half = ops::cast(x.device, DType::f16);
  EXPECT_EQ(ops::resize_nearest(view, 9, 4).to_vector(), ops::resize_nearest(ops::contiguous(view), 9, 4).to_vector());
  EXPECT_EQ(ops::resize_nearest(half, 9, 4).dtype(), DType::f16);
  EXPECT_THROW(ops::resize_nearest(x.device, 0, 3), ShapeError);
  EXPECT_THROW(ops::resize_nearest(x.device, 3, 0), ShapeError);
  EXPECT_THROW(ops::resize_nearest(Tensor::zeros(device, {1, 0, 5, 3}), 3, 3), ShapeError);
  EXPECT_THROW(ops::resize_nearest(Tensor::zeros(device, {1, 5, 0, 3}), 3, 3), ShapeError);
  EXPECT_EQ(test::refusal([&] {
              ops::resize_nearest(Tensor::zeros(device, {1, 7, 5, 3}, DType::i32), 3, 3);
            }),
            "resize_nearest: x [1, 7, 5, 3] is i32, expected f32, f16 or bf16");
}

// 11 · 26 / 22 is 13, but the ratio 26 / 22 in f32 is slightly smaller: torch 2.15 takes position 12.
BACKEND_TEST(ShapeOps, resizes_by_a_ratio_in_f32) {
  std::vector<float> places(26);
  for (size_t i = 0; i < 26; ++i) places[i] = float(i);
  const std::vector<float> torch{0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 20, 21, 22, 23, 24};
  EXPECT_EQ(ops::resize_nearest(Tensor::from(device, {1, 1, 26, 1}, places), 1, 22).to_vector(), torch);
  EXPECT_EQ(ops::resize_nearest(Tensor::from(device, {1, 26, 1, 1}, places), 22, 1).to_vector(), torch);
}

// As a KV cache is stored: the bits of encode_blocks, including ties and values of every magnitude.
BACKEND_TEST(ShapeOps, stores_blocks_of_q8_0) {
  test::Random random(83);
  std::vector<float> x = random.normal(device, {70, 32}).device.to_vector();
  for (size_t i = 0; i < 32; ++i) {
    x[i] = i == 5 ? -127.0f : float(i) - 15.5f;  // ties
    x[32 + i] = 0;
    x[64 + i] *= 1e-20f;
    x[96 + i] *= 3e38f / 10;
    x[128 + i] = i == 3 ? 254.0f : i % 2 == 0 ? 0.99999994f : -1.0000001f;  // next to a tie
  }
  std::vector<std::byte> right(bytes_of(DType::q8_0, int64_t(x.size())));
  encode_blocks(DType::q8_0, x.data(), int64_t(x.size()), right.data());
  Tensor y = Tensor::empty(device, {70, 32}, DType::q8_0);
  ops::store(Tensor::from(device, {70, 32}, x), y);
  const Tensor stored = y.to(device.host());
  for (size_t i = 0; i < right.size(); ++i) ASSERT_EQ(stored.raw()[i], right[i]) << "block " << i / 34 << " byte " << i % 34;

  for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
    x[200] = bad;
    ops::store(Tensor::from(device, {70, 32}, x), y);
    encode_blocks(DType::q8_0, x.data(), int64_t(x.size()), right.data());
    const Tensor stored_bad = y.to(device.host());
    for (size_t i = 0; i < right.size(); ++i) ASSERT_EQ(stored_bad.raw()[i], right[i]) << bad << " block " << i / 34 << " byte " << i % 34;
    const std::vector<float> decoded = y.to_vector();
    for (size_t i = 192; i < 224; ++i) EXPECT_TRUE(std::isnan(decoded[i])) << i;
    EXPECT_TRUE(std::isfinite(decoded[191]) && std::isfinite(decoded[224]));
  }
}

}  // namespace
}  // namespace hearth
