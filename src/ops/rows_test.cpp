// Products with weights that are held in place.
#include <cmath>
#include <cstring>
#include <random>

#include "core/blocks.h"
#include "ops/matmul.h"
#include "ops/random_test.h"
#include "ops/refusal_test.h"
#include "ops/shape_ops.h"

namespace hearth {
namespace {

using test::Random;

// clang-format off
constexpr DType held[] = {DType::f32, DType::f16, DType::bf16, DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::q2_k,
                          DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl, DType::iq4_xs, DType::mxfp4};
// clang-format on

// Where a block has numbers in f16.
std::vector<size_t> scales_of(DType dtype) {
  switch (dtype) {
    case DType::mxfp4: return {};
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_k:
    case DType::q5_k: return {0, 2};
    case DType::q2_k: return {80, 82};
    case DType::q3_k: return {108};
    case DType::q6_k: return {208};
    default: return {0};
  }
}

// Rows of random values in any type that can be held: of blocks, random bytes with the values as their scales, the only numbers there.
Tensor rows_of(Backend& device, const Shape& shape, const std::vector<float>& values, DType dtype) {
  if (!is_blocked(dtype)) return Tensor::from(device, shape, values, dtype);
  Tensor w = Tensor::empty(device, shape, dtype);
  const auto [count, bytes] = block_of(dtype);
  std::mt19937 engine(uint32_t(shape.numel()));
  for (size_t i = 0; i < w.bytes(); ++i) w.raw()[i] = std::byte(engine());
  for (size_t b = 0; b * bytes < w.bytes(); ++b) {
    std::byte* block = w.raw() + b * bytes;
    if (dtype == DType::mxfp4) block[0] = std::byte(120 + b % 5);
    for (const size_t at : scales_of(dtype)) {
      const uint16_t scale = f32_to_f16(values[b * size_t(count) + at]);
      std::memcpy(block + at, &scale, sizeof scale);
    }
  }
  return w;
}

Random::WeightPair in_place(Random& random, Backend& device, const Shape& shape, DType dtype) {
  const std::vector<float> values = random.normal(test::truth(), shape, DType::f32, 1 / std::sqrt(float(shape[1]))).truth.to_vector();
  const auto make = [&](Backend& backend) {
    const WeightForm form{.hold = dtype, .in_place = true};
    return Weight{.name = "w",
                  .shape = shape,
                  .form = form,
                  .prepared = backend.prepare(rows_of(backend, shape, values, dtype), WeightKind::linear, form),
                  .backend = &backend};
  };
  return {make(device), make(test::truth())};
}

BACKEND_TEST(rows, equal_the_reference_on_random_shapes) {
  Random random(71);
  for (int round = 0; round < 160; ++round) {
    const DType dtype = held[size_t(round) % std::size(held)];
    const int64_t M = round % 3 == 0 ? 1 : random.between(2, round % 5 == 0 ? 150 : 20), N = random.between(1, 130);
    const int64_t K = is_blocked(dtype) ? block_of(dtype).values * random.between(1, 640 / block_of(dtype).values)
                                        : random.between(1, round % 7 == 0 ? 2600 : 200);
    const bool images = random.chance();
    const int64_t B = images ? M : 1;
    const auto x = random.normal(device, {B, M / B, K});
    const auto w = in_place(random, device, {N, K}, dtype);
    const auto bias = random.normal(device, {N}), residual = random.normal(device, {B, M / B, N}), gate = random.normal(device, {B, N});
    const bool with_bias = random.chance(), with_residual = random.chance(), with_gate = random.chance();
    const auto act = Activation(random.between(0, 5));
    const auto run = [&](const Tensor& in, const Weight& weight, const Tensor& b, const Tensor& r, const Tensor& g) {
      return ops::linear(in, weight, with_bias ? b : Tensor(),
                         {.alpha = 0.9f, .activation = act, .gate = with_gate ? g : Tensor(), .residual = with_residual ? r : Tensor()});
    };
    SCOPED_TRACE(fmt::format("M {} K {} N {} w {} act {}", M, K, N, name_of(dtype), int(act)));
    EXPECT_CLOSE(run(x.device, w.device, bias.device, residual.device, gate.device),
                 run(x.truth, w.truth, bias.truth, residual.truth, gate.truth), test::op_tolerance(DType::f32));
  }
}

// Bit for bit: a row alone, among others, and with any number of threads.
BACKEND_TEST(rows, each_row_stands_alone) {
  Random random(72);
  for (const DType dtype : held)
    for (const int64_t K : {256, 768, 2048 + 256, 32, 1504}) {
      if (K % block_of(dtype).values != 0) continue;
      const int64_t N = random.between(1, 90), M = K == 256 ? 450 : 70;
      const auto x = random.normal(device, {M, K});
      const auto w = in_place(random, device, {N, K}, dtype);
      const std::vector<float> all = ops::linear(x.device, w.device).to_vector();
      for (int64_t begin = 0, step = 1; begin < M; begin += step, step = random.between(1, 30)) {
        const int64_t end = std::min(M, begin + step);
        const std::vector<float> part = ops::linear(x.device.slice(0, begin, end), w.device).to_vector();
        EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + begin * N)) << name_of(dtype) << " K " << K << " rows " << begin;
      }
    }
}

BACKEND_TEST(rows, refuses_what_does_not_fit) {
  Random random(73);
  const auto w = in_place(random, device, {3, 32}, DType::q8_0);
  EXPECT_EQ(test::refusal([&] {
              ops::linear(Tensor::zeros(device, {1, 32}, DType::f16), w.device);
            }),
            "linear: weight w [3, 32] is held in place, which takes x, residual and y in f32 and no norm");
}

BACKEND_TEST(rows, embedding_of_blocks) {
  Random random(74);
  const std::vector<float> values = random.normal(test::truth(), {7, 64}).truth.to_vector();
  const Tensor table = rows_of(device, {7, 64}, values, DType::q8_0), ids = Tensor::from(device, {3}, std::vector<int32_t>{6, 0, 3});
  const std::vector<float> all = table.to_vector(), y = ops::embedding(ids, table).to_vector();
  for (const size_t i : {0, 1, 2}) {
    const size_t row = std::array{6, 0, 3}[i];
    EXPECT_TRUE(std::equal(y.begin() + int64_t(i) * 64, y.begin() + int64_t(i + 1) * 64, all.begin() + int64_t(row) * 64));
  }
}

}  // namespace
}  // namespace hearth
