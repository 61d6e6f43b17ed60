// Products with weights in place as image networks use them: gated linear units, scales, 16-bit tensors, norms in front, many rows.
#include <cmath>

#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/refusal_test.h"
#include "ops/rows_test.h"

namespace hearth {
namespace {

using test::held, test::in_place, test::Random;

DType factors_of_round(const Backend& device, DType dtype, int round) {
  if (round % 3 == 1 && is_blocked(dtype)) return DType::i16;
  return round % 3 == 2 && device.multiplies_bf16() && (is_compact(dtype) || dtype == DType::bf16) ? DType::bf16 : DType::f32;
}

// Every field of an epilogue, every dtype of x, residual and y, a norm in front, a scale, one image or several, with and without gates.
BACKEND_TEST(CompactRows, equal_the_reference_with_any_epilogue) {
  Random random(91);
  const int rounds = test::slow(device) ? 75 : 300;
  for (int round = 0; round < rounds; ++round) {
    const DType dtype = held[size_t(round / 3) % std::size(held)];
    const DType factors = factors_of_round(device, dtype, round);
    const bool gated = random.chance();
    const int64_t B = random.between(1, 3), M = round % 4 == 0 ? 1 : random.between(1, round % 5 == 0 ? 260 : 30);
    const int64_t N = random.between(1, 70), K = 256 * random.between(1, round % 7 == 0 ? 9 : 2), rows = gated ? 2 * N : N;
    auto w = in_place(random, device, {rows, K}, dtype, factors, gated ? WeightKind::glu : WeightKind::linear);
    // Small values: with codes of random blocks, products of two sums could exceed f16.
    const auto x = random.normal(device, {B, M, K}, random.dtype(), 0.02f), residual = random.normal(device, {B, M, N}, random.dtype());
    const auto bias = random.normal(device, {rows}), per_image = random.normal(device, {B, rows}), gate = random.normal(device, {B, N}),
               scale = random.normal(device, {random.chance() ? rows : 1}), gamma = random.normal(device, {K}, DType::f32, 0.02f);
    if (random.chance()) w.device.scale = scale.device, w.reference.scale = scale.reference;
    const bool with_bias = random.chance(), with_image = random.chance(), with_gate = random.chance(), with_residual = random.chance(),
               with_norm = round % 4 == 1;
    const DType out = random.dtype();
    const auto act = Activation(random.between(0, 5));
    const auto run = [&](const auto& of) {
      const GroupNormSpec norm{.groups = with_norm ? 4 : 0, .gamma = of(gamma), .activation = Activation::silu};
      return ops::linear(of(x), &of(x).backend() == &device ? w.device : w.reference, with_bias ? of(bias) : Tensor(),
                         {.alpha = 0.9f,
                          .activation = act,
                          .per_image = with_image ? of(per_image) : Tensor(),
                          .gate = with_gate ? of(gate) : Tensor(),
                          .residual = with_residual ? of(residual) : Tensor(),
                          .out = out},
                         norm);
    };
    SCOPED_TRACE(fmt::format("B {} M {} K {} N {} w {}{} factors {} x {} y {} act {}{}", B, M, K, N, name_of(dtype), gated ? " gated" : "",
                             name_of(factors), name_of(x.device.dtype()), name_of(out), int(act), with_norm ? " norm" : ""));
    // Rounding in a norm may change how its result is rounded to a factor. Observed: 1.2e-5.
    const double limit = with_norm && factors != DType::f32 && out == DType::f32 ? 5e-5 : test::op_tolerance(out);
    const auto on_device = [](const Random::Pair& p) { return p.device; };
    const auto on_reference = [](const Random::Pair& p) { return p.reference; };
    EXPECT_CLOSE(run(on_device), run(on_reference), limit);
  }
}

// The gated product of a weight in place has the bits of its two halves, multiplied.
BACKEND_TEST(CompactRows, gating_equals_two_products) {
  Random random(92);
  for (const DType dtype : {DType::q8_0, DType::q4_k, DType::f8_e4m3, DType::f16})
    for (const int64_t M : {1, 5, 40, 1100}) {
      const int64_t N = random.between(1, 50), K = 512;
      const DType factors = is_blocked(dtype) ? DType::i16 : DType::f32;
      Random again = random;
      const auto gated = in_place(random, device, {2 * N, K}, dtype, factors, WeightKind::glu);
      const auto plain = in_place(again, device, {2 * N, K}, dtype, factors);
      const Tensor x = random.normal(device, {M, K}).device, bias = random.normal(device, {2 * N}).device;
      const std::vector<float> both = ops::linear(x, plain.device, bias).to_vector(),
                               y = ops::linear(x, gated.device, bias, {.activation = Activation::relu}).to_vector();
      std::vector<float> apart;
      for (int64_t m = 0; m < M; ++m)
        for (int64_t n = 0; n < N; ++n) apart.push_back(both[size_t(m * 2 * N + n)] * std::max(0.0f, both[size_t(m * 2 * N + N + n)]));
      if (device.name() != "cpu") EXPECT_CLOSE(y, apart, 2e-7);  // its sums are f64, and are rounded in `apart`
      else EXPECT_EQ(y, apart) << name_of(dtype) << " M " << M << " N " << N;
    }
}

// 8-bit floats have the bits of the same values held as f32; a power of two as scale changes nothing but the exponent.
BACKEND_TEST(CompactRows, f8_equals_its_values_in_f32) {
  Random random(93);
  for (const DType dtype : {DType::f8_e4m3, DType::f8_e5m2})
    for (const int64_t M : {1, 3, 60, 600}) {
      const int64_t N = random.between(1, 70), K = random.between(1, 3000);
      Random again = random;
      const std::vector<float> drawn =
          again.normal(test::reference_backend(), {N, K}, DType::f32, 1 / std::sqrt(float(K))).reference.to_vector();
      Weight w = in_place(random, device, {N, K}, dtype).device;
      const WeightForm form{.hold = DType::f32, .in_place = true};
      const Tensor wide = Tensor::from(device.host(), {N, K}, test::rows_of(device, {N, K}, drawn, dtype).to_vector());
      const Weight same{
          .name = "w", .shape = {N, K}, .form = form, .prepared = device.prepare(wide, WeightKind::linear, form), .backend = &device};
      const Tensor x = random.normal(device, {M, K}).device;
      std::vector<float> y = ops::linear(x, same).to_vector();
      EXPECT_EQ(ops::linear(x, w).to_vector(), y) << name_of(dtype) << " M " << M << " K " << K;
      w.scale = Tensor::filled(device, {1}, 0.25f);
      for (float& v : y) v *= 0.25f;
      EXPECT_EQ(ops::linear(x, w).to_vector(), y);
      w.scale = Tensor::filled(device, {N}, 0.25f);
      EXPECT_EQ(ops::linear(x, w).to_vector(), y);
    }
}

// All 256 values, NaN and infinity among them.
BACKEND_TEST(CompactRows, f8_has_every_value) {
  for (const DType dtype : {DType::f8_e4m3, DType::f8_e5m2}) {
    Tensor w = Tensor::empty(device.host(), {256, 1}, dtype);
    for (int i = 0; i < 256; ++i) w.raw()[i] = std::byte(i);
    EXPECT_EQ(count_non_finite(w), dtype == DType::f8_e4m3 ? 2 : 8);
    const WeightForm form{.hold = dtype, .in_place = true};
    const Weight weight{
        .name = "w", .shape = {256, 1}, .form = form, .prepared = device.prepare(w, WeightKind::linear, form), .backend = &device};
    for (const int64_t M : {1, 2, 50}) {
      const std::vector<float> y = ops::linear(Tensor::filled(device, {M, 1}, 1), weight).to_vector();
      for (size_t i = 0; i < y.size(); ++i) {
        const float value = f8_to_f32(dtype, uint8_t(i % 256));
        if (std::isnan(value)) EXPECT_TRUE(std::isnan(y[i])) << i;
        else EXPECT_EQ(y[i], value) << i;
      }
    }
  }
}

BACKEND_TEST(CompactRows, refuses_invalid_arguments) {
  Random random(94);
  auto w = in_place(random, device, {3, 32}, DType::q8_0).device;
  w.scale = Tensor::zeros(device, {4});
  EXPECT_EQ(test::refusal([&] {
              ops::linear(Tensor::zeros(device, {1, 32}), w);
            }),
            "linear: scale of the weight is f32 [4], expected f32 [3]");
  if (device.name() != "cpu") return;
  const Tensor odd = Tensor::zeros(device.host(), {4, 3, 3, 3});
  EXPECT_THROW(device.prepare(odd, WeightKind::conv, {.hold = DType::f32, .factors = DType::i16, .in_place = true}), UnsupportedError);
}

}  // namespace
}  // namespace hearth
