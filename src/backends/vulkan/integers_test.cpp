// Products of integers on a narrow card, which has no dot products of bytes. Those of src/ops/rows_test.cpp use them.
#include "ops/matmul.h"
#include "ops/rows_test.h"

namespace hearth::vulkan {
namespace {

using test::Random;

// Bit-identical to the CPU, or, where a driver need not fuse a multiply-add, to the same card with dot products. One type of each number of
// products that are exact in f32, of units of 16 and 32 values, with and without a lowest value.
TEST(Integers, a_narrow_card_has_the_same_bits) {
  const auto narrow = test::make_test_backend("vulkan_narrow"), wide = test::make_test_backend("vulkan");
  if (!narrow) GTEST_SKIP() << "this machine has no driver of Vulkan";
  Random random(41);
  for (const DType type : {DType::q4_0, DType::q8_0, DType::q2_k, DType::q5_k, DType::q6_k, DType::iq4_nl, DType::iq2_xxs, DType::iq3_s}) {
    const int64_t N = 21, K = block_of(type).values == 256 ? 768 : 1120;
    const Tensor stored = test::rows_of(*narrow, {N, K}, random.normal(narrow->host(), {N, K}).device.to_vector(), type);
    const std::vector<float> decoded = stored.to_vector();
    const WeightForm form{.hold = type, .factors = DType::i16, .in_place = true};
    for (const int64_t M : {3, 6, 20}) {  // few rows, and both tiles
      if (M == 20 && type != DType::q8_0 && type != DType::q2_k) continue;
      std::vector<float> x = random.normal(narrow->host(), {M, K}).device.to_vector();
      // The largest sums of integers in the first row of the result: 32767 times the magnitudes of w's first row.
      for (size_t k = 0; k < size_t(K); ++k) x[k] = test::has_lowest(type) || decoded[k] > 0 ? 1 : -1;
      const auto product = [&](Backend& on) {
        const Weight w{"w", {N, K}, form, on.prepare(stored, WeightKind::linear, form), &on};
        return ops::linear(Tensor::from(on, {M, K}, x), w).to_vector();
      };
      EXPECT_EQ(product(*narrow), product(test::has_lowest(type) ? *wide : narrow->host())) << name_of(type) << ", " << M << " rows";
    }
  }
}

}  // namespace
}  // namespace hearth::vulkan
