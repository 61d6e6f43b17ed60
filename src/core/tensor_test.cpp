#include "core/tensor.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/memory.h"
#include "support/backend_test.h"
#include "support/tolerance.h"

namespace hearth {
namespace {

std::vector<float> counting(int64_t n) {
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(float(i));
  return values;
}

BACKEND_TEST(Tensor, views_share_elements) {
  const Tensor x = Tensor::from(device, {2, 3, 4}, counting(24));
  EXPECT_EQ(x.slice(1, 1, 3).to_vector(), (std::vector<float>{4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(x.permute({2, 0, 1}).slice(0, 3, 4).to_vector(), (std::vector<float>{3, 7, 11, 15, 19, 23}));
  EXPECT_EQ(&x.view({6, 4}).slice(0, 5, 6).storage(), &x.storage());
  EXPECT_FALSE(x.slice(1, 0, 2).contiguous());
  EXPECT_TRUE(x.slice(0, 1, 2).contiguous());
}

BACKEND_TEST(Tensor, refuses_invalid_arguments) {
  const Tensor x = Tensor::from(device, {2, 3}, counting(6));
  EXPECT_THROW(x.view({5}), ShapeError);
  EXPECT_THROW(x.permute({1, 0}).view({6}), ShapeError);
  EXPECT_THROW(x.slice(1, 2, 4), ShapeError);
  EXPECT_THROW(x.slice(2, 0, 1), ShapeError);
  EXPECT_THROW(x.permute({0, 0}), ShapeError);
  EXPECT_THROW(x.dims<3>(), ShapeError);
  EXPECT_THROW(Tensor::from(device, {4}, counting(6)), ShapeError);
}

BACKEND_TEST(Tensor, stores_16_bit_types) {
  const std::vector<float> values{0.1f, -2.5f, 1000.0f};
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Tensor x = Tensor::from(device, {3}, values, dtype);
    EXPECT_EQ(x.bytes(), 6u);
    EXPECT_CLOSE(x, values, test::op_tolerance(dtype));
    EXPECT_NE(x.to_vector()[0], values[0]);  // the value was rounded
  }
}

// G-84: a check of one element misses a bad tensor.
BACKEND_TEST(Tensor, counts_every_non_finite_element) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    std::vector<float> values(1001, 1.0f);
    EXPECT_EQ(count_non_finite(Tensor::from(device, {1001}, values, dtype)), 0);
    values[1000] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(count_non_finite(Tensor::from(device, {1001}, values, dtype)), 1);
    values[0] = -std::numeric_limits<float>::infinity();
    EXPECT_EQ(count_non_finite(Tensor::from(device, {1001}, values, dtype)), 2);
    EXPECT_EQ(count_non_finite(Tensor::from(device, {7, 143}, values, dtype).permute({1, 0})), 2);
  }
}

BACKEND_TEST(Tensor, elements_are_accessible_only_on_a_host) {
  const Tensor x = Tensor::zeros(device, {2, 3});
  EXPECT_EQ(x.on_host(), &device.host() == &device);
  if (x.on_host()) EXPECT_NO_THROW(x.data<float>());
  else EXPECT_THROW(x.data<float>(), std::logic_error);
  EXPECT_NO_THROW(x.to(device.host()).data<float>());
}

BACKEND_TEST(Tensor, memory_is_counted_and_freed) {
  if (device.name().find('+') != std::string::npos) GTEST_SKIP() << "a divided device takes memory where a tensor is written";
  device.release_cached();
  const int64_t before = device.ledger().use().now, in_all = MemoryLedger::process().use().now;
  const MemoryWatch watch(device.ledger());
  {
    const Tensor x = Tensor::empty(device, {1 << 20});
    EXPECT_GE(device.ledger().use().now, before + (4 << 20));
    EXPECT_GE(MemoryLedger::process().use().now, in_all + (4 << 20));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(x.storage().data) % 64, 0u);
  }
  device.release_cached();
  EXPECT_GE(watch.peak(), before + (4 << 20));
  EXPECT_EQ(device.ledger().use().now, before);
  EXPECT_EQ(MemoryLedger::process().use().now, in_all);
}

TEST(DeviceMemory, of_two_devices_is_counted_separately) {
  for (const char* name : {"cpu_avx2", "reference"}) {
    const auto one = test::make_test_backend(name), other = test::make_test_backend("reference");
    if (!one) continue;
    const int64_t idle = other->ledger().use().now;
    const MemoryWatch watch(other->ledger());
    const Tensor x = Tensor::empty(*one, {1 << 20});
    EXPECT_GE(one->ledger().use().now, 4 << 20) << name;
    EXPECT_EQ(watch.peak(), idle) << name;
  }
}

TEST(DeviceMemory, of_a_tensor_that_outlives_its_device_is_counted_until_freed) {
  for (const char* name : {"cpu_avx2", "reference"}) {
    auto device = test::make_test_backend(name);
    if (!device) continue;
    const int64_t before = MemoryLedger::process().use().now;
    Tensor x = Tensor::empty(*device, {1 << 20});
    device.reset();
    EXPECT_GE(MemoryLedger::process().use().now, before + (4 << 20)) << name;
    x = {};
    EXPECT_EQ(MemoryLedger::process().use().now, before) << name;
  }
}

}  // namespace
}  // namespace hearth
