// A backend's memory: fill, upload and download.
#include <cstring>

#include "core/quantized/blocks.h"
#include "ops/refusal_test.h"
#include "ops/spec_test.h"

namespace hearth {
namespace {

using test::Random;

const std::vector<DType> all_types = [] {
  std::vector<DType> all;
  for (int i = 0; i <= int(DType::mxfp4); ++i) all.push_back(DType(i));
  return all;
}();

// A tensor of any dtype with random bytes.
Tensor random_bytes(Backend& device, const Shape& shape, DType dtype) {
  const Tensor x = Tensor::empty(device.host(), shape, dtype);
  Random random(int(dtype) + 1);
  for (size_t i = 0; i < x.bytes(); ++i) x.raw()[i] = std::byte(random.between(0, 255));
  return x.to(device);
}

Tensor on_its_host(const Tensor& x) { return x.to(x.backend().host()); }

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(on_its_host(a).raw(), on_its_host(b).raw(), a.bytes()) == 0;
}

BACKEND_TEST(Memory, zeros_of_every_type) {
  for (const DType dtype : all_types)
    for (const Shape& shape : {Shape{3, 256}, Shape{0, 256}}) {
      Tensor x = random_bytes(device, shape, dtype);
      device.fill(x, 0);
      const std::vector<std::byte> zeros(x.bytes());
      const Tensor there = on_its_host(x);
      EXPECT_TRUE(std::equal(zeros.begin(), zeros.end(), there.raw())) << name_of(dtype);
    }
}

BACKEND_TEST(Memory, fills_with_a_value) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    Tensor x = random_bytes(device, {3, 37}, dtype);
    device.fill(x, -2.5f);
    EXPECT_EQ(x.to_vector(), std::vector<float>(3 * 37, -2.5f)) << name_of(dtype);
  }
  Tensor half = Tensor::empty(device, {2}, DType::f16);
  device.fill(half, 2049);  // to nearest even
  EXPECT_EQ(half.to_vector(), (std::vector<float>{2048, 2048}));
  Tensor whole = Tensor::empty(device, {2}, DType::i32);
  EXPECT_THROW((device.fill(whole, 1), device.finish()), UnsupportedError);
  EXPECT_EQ(Tensor::filled(device, {2, 2}, 7).to_vector(), std::vector<float>(4, 7.0f));
}

void go_and_come_back(Backend& device, DType dtype) {
  const Tensor x = random_bytes(device, {3, 256}, dtype), there = x.to(test::reference_backend()), back = there.to(device);
  EXPECT_EQ(&there.backend(), &test::reference_backend());
  EXPECT_EQ(there.dtype(), dtype);
  EXPECT_EQ(there.shape(), x.shape());
  EXPECT_TRUE(same_bytes(x, there)) << name_of(dtype);
  EXPECT_TRUE(same_bytes(x, back)) << name_of(dtype);
  EXPECT_EQ(&x.to(device).storage(), &x.storage());
}

// Bit-identical; for a view, its elements.
BACKEND_TEST(Memory, copies_to_another_backend_and_back) {
  for (const DType dtype : all_types) go_and_come_back(device, dtype);
  Random random(131);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Tensor view = random.normal(device, {4, 5, 6}, dtype).device.permute({2, 0, 1}), there = view.to(test::reference_backend());
    EXPECT_TRUE(there.contiguous());
    EXPECT_EQ(there.to_vector(), view.to_vector());
  }
}

// An upload may change the float dtype.
BACKEND_TEST(Memory, uploads_round_like_copies) {
  Random random(132);
  const Tensor x = random.normal(device, {5, 33}).device;
  for (const DType from : {DType::f32, DType::f16, DType::bf16})
    for (const DType to : {DType::f32, DType::f16, DType::bf16}) {
      const Tensor typed = Tensor::from(test::reference_backend(), {5, 33}, x.to_vector(), from);
      Tensor up = Tensor::empty(device, {5, 33}, to), right = Tensor::empty(test::reference_backend(), {5, 33}, to);
      device.upload(typed, up);
      test::reference_backend().copy(typed, right);
      EXPECT_TRUE(same_bytes(up, right)) << name_of(from) << " to " << name_of(to);
    }
}

}  // namespace
}  // namespace hearth
