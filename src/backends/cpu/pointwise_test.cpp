// Elementwise ops, norms and rotations on random shapes, against the reference backend.
#include "ops/pointwise.h"

#include "ops/norm.h"
#include "ops/random_test.h"
#include "ops/rope.h"
#include "ops/shape_ops.h"

namespace hearth {
namespace {

using test::Random;

// A scale or shift per image, per row or for all: undefined, dense, or part of longer rows, like the projection of a time embedding.
Random::Pair modulation(Random& random, Backend& device, int64_t images, int64_t rows, int64_t C) {
  const int64_t count = random.chance() ? images : rows;
  if (random.between(0, 4) == 0) return {};
  if (random.chance()) return random.normal(device, {count, C});
  const auto wide = random.normal(device, {count, 3 * C});
  return {wide.device.slice(1, C, 2 * C), wide.reference.slice(1, C, 2 * C)};
}

Random::Pair vector_or_none(Random& random, Backend& device, int64_t C) {
  if (random.chance()) return {};
  return random.normal(device, {C});
}

HOST_TEST(CpuPointwise, equals_the_reference_on_random_shapes) {
  Random random(41);
  for (int round = 0; round < 60; ++round) {
    const DType type = random.dtype();
    const int64_t B = random.between(1, 3), M = random.between(1, 9), C = random.between(1, round % 7 == 0 ? 5000 : 70);
    SCOPED_TRACE(fmt::format("{} [{}, {}, {}]", name_of(type), B, M, C));
    const auto x = random.normal(device, {B, M, C}, type), other = random.normal(device, {B, M, C}, type);
    EXPECT_CLOSE(ops::multiply(x.device, other.device), ops::multiply(x.reference, other.reference), test::op_tolerance(type));
    const auto scale = modulation(random, device, B, B * M, C), shift = modulation(random, device, B, B * M, C);
    EXPECT_CLOSE(ops::affine(x.device, scale.device, shift.device), ops::affine(x.reference, scale.reference, shift.reference),
                 test::op_tolerance(type));
    const auto all = random.normal(device, {C});
    EXPECT_CLOSE(ops::affine(x.device, all.device, shift.device), ops::affine(x.reference, all.reference, shift.reference),
                 test::op_tolerance(type));
    for (const Activation act : {Activation::sigmoid, Activation::tanh, Activation::softplus, Activation::squared_relu})
      EXPECT_CLOSE(ops::activate(x.device, act), ops::activate(x.reference, act), test::op_tolerance(type));
  }
}

HOST_TEST(CpuNorm, modulated_by_image_and_by_row) {
  Random random(42);
  for (int round = 0; round < 60; ++round) {
    const DType type = random.dtype(), out = random.dtype();
    const int64_t B = random.between(1, 3), M = random.between(1, 9), C = random.between(2, round % 7 == 0 ? 5000 : 70);
    SCOPED_TRACE(fmt::format("{} → {} [{}, {}, {}]", name_of(type), name_of(out), B, M, C));
    const auto x = random.normal(device, {B, M, C}, type, 3);
    const auto gamma = vector_or_none(random, device, C), beta = vector_or_none(random, device, C);
    const auto scale = modulation(random, device, B, B * M, C), shift = modulation(random, device, B, B * M, C);
    const auto spec = [&](const Tensor Random::Pair::*of, bool with_beta) {
      return NormSpec{
          .gamma = gamma.*of, .beta = with_beta ? beta.*of : Tensor(), .eps = 1e-3f, .scale = scale.*of, .shift = shift.*of, .out = out};
    };
    EXPECT_CLOSE(ops::layer_norm(x.device, spec(&Random::Pair::device, true)),
                 ops::layer_norm(x.reference, spec(&Random::Pair::reference, true)), test::op_tolerance(out));
    EXPECT_CLOSE(ops::rms_norm(x.device, spec(&Random::Pair::device, false)),
                 ops::rms_norm(x.reference, spec(&Random::Pair::reference, false)), test::op_tolerance(out));
  }
}

HOST_TEST(CpuNorm, groups_modulated_by_image) {
  Random random(43);
  for (int round = 0; round < 40; ++round) {
    const DType type = random.dtype();
    const int64_t groups = random.between(1, 4), B = random.between(1, 3), C = groups * random.between(2, 20);
    const auto x = random.normal(device, {B, random.between(1, 40), C}, type, 3);
    SCOPED_TRACE(fmt::format("{} {} groups {}", name_of(type), x.device.shape(), groups));
    const auto gamma = vector_or_none(random, device, C), beta = vector_or_none(random, device, C);
    const auto scale = modulation(random, device, B, B, C), shift = modulation(random, device, B, B, C);
    const auto spec = [&](const Tensor Random::Pair::*of) {
      return GroupNormSpec{.groups = groups,
                           .gamma = gamma.*of,
                           .beta = beta.*of,
                           .eps = 1e-3f,
                           .activation = Activation::silu,
                           .scale = scale.*of,
                           .shift = shift.*of};
    };
    EXPECT_CLOSE(ops::group_norm(x.device, spec(&Random::Pair::device)), ops::group_norm(x.reference, spec(&Random::Pair::reference)),
                 test::op_tolerance(type));
  }
}

HOST_TEST(CpuRope, rotates_every_dtype_with_every_kind_of_table) {
  Random random(44);
  for (int round = 0; round < 40; ++round) {
    const DType type = random.dtype();
    const int64_t B = random.between(1, 3), T = random.between(1, 9), N = random.between(1, 5), half = random.between(1, 40),
                  D = 2 * half + random.between(0, 1) * random.between(1, 30);
    const auto wide = random.normal(device, {B, T, N, 3 * D}, type);
    const auto table = random.normal(device, {random.chance() ? 1 : B, T, random.chance() ? 1 : N, 2, half});
    SCOPED_TRACE(fmt::format("{} [{}, {}, {}, {}] table {}", name_of(type), B, T, N, D, table.device.shape()));
    for (const RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::neighbors})
      EXPECT_CLOSE(ops::rope(wide.device.slice(3, D, 2 * D), table.device, pairs),
                   ops::rope(wide.reference.slice(3, D, 2 * D), table.reference, pairs), test::op_tolerance(type));
  }
}

}  // namespace
}  // namespace hearth
