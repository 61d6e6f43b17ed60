// Products with weights held in place.
#include <cmath>
#include <cstring>
#include <random>

#include "core/observe.h"
#include "core/quantized/blocks.h"
#include "ops/matmul.h"
#include "ops/rows_test.h"
#include "ops/select.h"
#include "ops/shape_ops.h"

namespace hearth {
namespace {

using test::blocks, test::held, test::in_place, test::Random, test::rows_of, test::scales_of;

BACKEND_TEST(Rows, a_product_reports_its_weight_bytes) {
  struct Record : Observer {
    void on_op(const OpEvent& e) override { bytes += e.weight_bytes; }
    int64_t bytes = 0;
  };
  Random random(72);
  for (const DType dtype : {DType::f32, DType::f16, DType::q8_0, DType::q4_k}) {
    const Weight w = in_place(random, device, {6, 256}, dtype).device;
    Record record;
    const ObserverScope watch(record);
    ops::linear(Tensor::zeros(device, {1, 256}), w);
    EXPECT_EQ(record.bytes, int64_t(bytes_of(dtype, 6 * 256))) << name_of(dtype);
  }
}

BACKEND_TEST(Rows, equal_the_reference_on_random_shapes) {
  Random random(71);
  const int rounds = test::slow(device) ? 90 : 290;
  for (int round = 0; round < rounds; ++round) {
    const size_t kind = size_t(round) % (std::size(held) + std::size(blocks));
    const DType dtype = held[kind < std::size(held) ? kind : kind - std::size(blocks)];
    const DType factors = kind < std::size(held) ? DType::f32 : DType::i16;
    const int64_t M = round % 3 == 0 ? 1 : random.between(2, round % 5 == 0 ? 300 : 20), N = random.between(1, 130);
    const int64_t K = is_blocked(dtype) ? block_of(dtype).values * random.between(1, (round % 4 ? 640 : 2600) / block_of(dtype).values)
                                        : random.between(1, round % 7 == 0 ? 2600 : 200);
    const bool images = random.chance();
    const int64_t B = images ? M : 1;
    const auto x = random.normal(device, {B, M / B, K});
    const auto w = in_place(random, device, {N, K}, dtype, factors);
    const auto bias = random.normal(device, {N}), residual = random.normal(device, {B, M / B, N}), gate = random.normal(device, {B, N});
    const bool with_bias = random.chance(), with_residual = random.chance(), with_gate = random.chance();
    const auto act = Activation(random.between(0, 5));  // without activations that shrink large sums but not their errors
    const auto run = [&](const Tensor& in, const Weight& weight, const Tensor& b, const Tensor& r, const Tensor& g) {
      return ops::linear(in, weight, with_bias ? b : Tensor(),
                         {.alpha = 0.9f, .activation = act, .gate = with_gate ? g : Tensor(), .residual = with_residual ? r : Tensor()});
    };
    SCOPED_TRACE(fmt::format("M {} K {} N {} w {} factors {} act {}", M, K, N, name_of(dtype), name_of(factors), int(act)));
    EXPECT_CLOSE(run(x.device, w.device, bias.device, residual.device, gate.device),
                 run(x.reference, w.reference, bias.reference, residual.reference, gate.reference), test::op_tolerance(DType::f32));
  }
}

// Bit-identical: a row alone, among others, and with any number of threads.
BACKEND_TEST(Rows, each_row_is_independent) {
  Random random(72);
  for (size_t kind = 0; kind < std::size(held) + std::size(blocks); kind += test::slow(device) ? 3 : 1)
    for (const int64_t K : {256, 768, 2048 + 256, 32, 1504}) {
      const DType dtype = held[kind < std::size(held) ? kind : kind - std::size(blocks)];
      if (K % block_of(dtype).values != 0 || (test::slow(device) && K > 768)) continue;
      // 500 rows of 2304 values: more than one piece.
      const int64_t N = random.between(1, 90), M = K == 256                     ? (test::slow(device) ? 70 : 1100)
                                                   : K == 768                   ? 135
                                                   : K == 2304 && kind % 5 == 1 ? 500
                                                                                : 70;
      const auto x = random.normal(device, {M, K});
      const auto w = in_place(random, device, {N, K}, dtype, kind < std::size(held) ? DType::f32 : DType::i16);
      const std::vector<float> all = ops::linear(x.device, w.device).to_vector();
      for (int64_t begin = 0, step = 1; begin < M; begin += step, step = random.between(1, 30)) {
        const int64_t end = std::min(M, begin + step);
        const std::vector<float> part = ops::linear(x.device.slice(0, begin, end), w.device).to_vector();
        EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + begin * N)) << name_of(dtype) << " K " << K << " rows " << begin;
      }
    }
}

// Each number of rows that a tile of integers can have, and of two or three tiles: equal to the reference and bit-identical to more rows;
// on a card to its host, except that drivers need not fuse multiply-adds.
BACKEND_TEST(Rows, each_number_of_few_rows_equals_the_reference) {
  constexpr int64_t most = 33;
  Random random(79);
  for (size_t kind = 0; kind < std::size(blocks); kind += test::slow(device) ? 3 : 1) {
    const DType dtype = blocks[kind];
    const int64_t N = 77, K = block_of(dtype).values == 256 ? 768 : 800;
    const auto x = random.normal(device, {most, K});
    Random again = random;
    const auto w = in_place(random, device, {N, K}, dtype, DType::i16);
    const Tensor right = ops::linear(x.reference, w.reference);
    const std::vector<float> all = ops::linear(x.device, w.device).to_vector();
    if (device.name() == "vulkan") {
      const Weight on_host = in_place(again, device.host(), {N, K}, dtype, DType::i16).device;
      const std::vector<float> same = ops::linear(x.device.to(device.host()), on_host).to_vector();
      if (test::has_lowest(dtype)) EXPECT_CLOSE(all, same, 2e-7);
      else EXPECT_EQ(all, same) << name_of(dtype);
    }
    for (int64_t M = 1; M <= most; ++M) {
      SCOPED_TRACE(fmt::format("{} M {}", name_of(dtype), M));
      const Tensor y = ops::linear(x.device.slice(0, most - M, most), w.device);
      EXPECT_CLOSE(y, right.slice(0, most - M, most), test::op_tolerance(DType::f32));
      const std::vector<float> some = y.to_vector();
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + (most - M) * N));
    }
  }
}

// Products of one x computed together are bit-identical to each alone: any number of weights, sizes and dtypes, each with an epilogue.
BACKEND_TEST(Rows, combined_products_equal_single_ones) {
  Random random(78);
  const int rounds = test::slow(device) ? 20 : 60;
  for (int round = 0; round < rounds; ++round) {
    const int64_t K = 256 * random.between(1, round % 3 ? 4 : 33), M = round % 5 == 4 ? 3 : 1;
    const auto x = random.normal(device, {M, K});
    const bool integers = random.chance(), mixed = random.chance();
    const size_t count = size_t(random.between(1, 4));
    DType dtype = integers ? blocks[size_t(round) % std::size(blocks)] : held[size_t(round) % std::size(held)];
    std::vector<Weight> w;
    std::vector<Tensor> bias, residual, gate;
    for (size_t i = 0; i < count; ++i) {
      const int64_t N = random.between(1, round % 7 == 0 ? 1300 : 200);
      w.push_back(in_place(random, device, {N, K}, dtype, integers ? DType::i16 : DType::f32).device);
      bias.push_back(random.chance() ? random.normal(device, {N}).device : Tensor());
      residual.push_back(random.chance() ? random.normal(device, {M, N}).device : Tensor());
      gate.push_back(random.chance() ? random.normal(device, {M, N}).device : Tensor());
      if (mixed) dtype = integers ? blocks[size_t(random.between(0, int64_t(std::size(blocks)) - 1))] : DType::f16;
    }
    std::vector<ops::LinearSpec> specs;
    for (size_t i = 0; i < count; ++i)
      specs.push_back(
          {w[i], bias[i], {.activation = Activation(random.between(0, test::activations - 1)), .gate = gate[i], .residual = residual[i]}});
    std::vector<Tensor> together(count);
    ops::linears(x.device, specs, together);
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(together[i].to_vector(), ops::linear(x.device, w[i], bias[i], specs[i].e).to_vector())
          << i << " of " << count << ", " << name_of(w[i].form.hold) << ", K " << K << " M " << M;
  }
}

BACKEND_TEST(Rows, combined_products_of_no_rows) {
  Random random(81);
  const Weight w = in_place(random, device, {5, 64}, DType::q8_0).device;
  const Tensor none;
  const auto [a, b] = ops::linears(Tensor::zeros(device, {0, 64}), {{w, none}, {w, none}});
  EXPECT_EQ(a.shape(), (Shape{0, 5}));
  EXPECT_EQ(b.shape(), (Shape{0, 5}));
}

BACKEND_TEST(Rows, combined_products_are_reported_one_by_one) {
  struct Record : Observer {
    void on_op(const OpEvent& e) override { events.push_back(fmt::format("{} {} {}", e.op, e.y.shape(), e.weight_bytes)); }
    std::vector<std::string> events;
  };
  Random random(80);
  const Weight a = in_place(random, device, {6, 256}, DType::q8_0).device, b = in_place(random, device, {7, 256}, DType::q4_k).device;
  Record record;
  {
    const ObserverScope watch(record);
    const Tensor none;
    ops::linears(Tensor::zeros(device, {1, 256}), {{a, none}, {b, none}});
  }
  EXPECT_EQ(record.events, (std::vector<std::string>{"linear [1, 6] 1632", "linear [1, 7] 1008"}));
}

// Relative L2 error of rounding x to 16 bits. Observed: at most 2.2e-5 for normal x, 5.6e-5 if one value of each 32 is 100 times
// larger.
BACKEND_TEST(Rows, integer_factors_are_accurate) {
  for (const DType dtype : blocks) {
    Random random(75), again(75);
    const Shape shape{64, 1024};
    const auto integers = in_place(random, device, shape, dtype, DType::i16), wide = in_place(again, device, shape, dtype);
    for (const float outlier : {1.0f, 100.0f}) {
      std::vector<float> values = random.normal(device, {20, 1024}).device.to_vector();
      for (size_t i = 5; i < values.size(); i += 32) values[i] *= outlier;
      const Tensor x = Tensor::from(test::reference_backend(), {20, 1024}, values);
      const Tensor right = ops::linear(x, wide.reference);
      const Tensor y = ops::linear(Tensor::from(device, {20, 1024}, values), integers.device);
      EXPECT_CLOSE(y, right, outlier == 1 ? 5e-5 : 1e-4);
      EXPECT_GT(test::relative_error(y.to_vector(), right.to_vector()), 1e-6) << "nothing was rounded";
    }
  }
}

// bf16 factors: one row and few rows are multiplied in f32 or, for block types, as integers, more rows in bf16; several chunks and
// strips, and edges of panels.
void bf16_factors_equal_the_reference(Backend& device, Random& random, DType dtype, std::span<const int64_t> sizes) {
  for (const int64_t M : {1, 3, 15, 16, 33, 70, 530})
    for (const int64_t K : sizes) {
      const int64_t N = M == 530 ? random.between(1, 40) : random.between(1, 130);
      if (M == 530 && K % 96 != 0) continue;
      if (test::slow(device) && (M == 15 || M > 33 || (M < 16 && is_blocked(dtype)) || (K > 1000 && dtype != DType::bf16))) continue;
      const auto x = random.normal(device, {M, K});
      const auto w = in_place(random, device, {N, K}, dtype, DType::bf16);
      const auto bias = random.normal(device, {N}), residual = random.normal(device, {M, N});
      SCOPED_TRACE(fmt::format("{} M {} K {} N {}", name_of(dtype), M, K, N));
      EXPECT_CLOSE(ops::linear(x.device, w.device, bias.device, {.activation = Activation::silu, .residual = residual.device}),
                   ops::linear(x.reference, w.reference, bias.reference, {.activation = Activation::silu, .residual = residual.reference}),
                   test::op_tolerance(DType::f32));
      if (test::slow(device) && dtype != DType::bf16) continue;
      const Tensor none;
      const auto [one, two] = ops::linears(x.device, {ops::LinearSpec{w.device, bias.device}, ops::LinearSpec{w.device, none}});
      EXPECT_EQ(one.to_vector(), ops::linear(x.device, w.device, bias.device).to_vector());
      EXPECT_EQ(two.to_vector(), ops::linear(x.device, w.device).to_vector());
    }
}

BACKEND_TEST(Rows, bf16_factors_equal_the_reference) {
  if (!device.multiplies_bf16()) GTEST_SKIP() << "no products of bf16 factors";
  Random random(80);
  bf16_factors_equal_the_reference(device, random, DType::bf16, std::array<int64_t, 6>{1, 31, 96, 1000, 1056, 2304});
  for (const DType dtype : {DType::f8_e4m3, DType::f8_e5m2})
    bf16_factors_equal_the_reference(device, random, dtype, std::array<int64_t, 3>{31, 1000, 2304});
  for (const DType dtype : blocks) {
    const auto [values, bytes] = block_of(dtype);
    bf16_factors_equal_the_reference(device, random, dtype, std::array<int64_t, 2>{values, values == 32 ? 1056 : 2304});
  }
}

// Converting x to integers and rounding it are separate pieces of work.
BACKEND_TEST(Rows, bf16_factors_of_different_types_together) {
  if (!device.multiplies_bf16()) GTEST_SKIP() << "no products of bf16 factors";
  Random random(82);
  const auto blocks_of_w = in_place(random, device, {40, 512}, DType::q4_k, DType::bf16);
  const auto numbers = in_place(random, device, {33, 512}, DType::bf16, DType::bf16),
             wide = in_place(random, device, {20, 512}, DType::f16);
  const Tensor none;
  for (const int64_t M : {1, 5, 20}) {
    const Tensor x = random.normal(device, {M, 512}).device;
    const auto ys = ops::linears(
        x, {ops::LinearSpec{blocks_of_w.device, none}, ops::LinearSpec{numbers.device, none}, ops::LinearSpec{wide.device, none}});
    EXPECT_EQ(ys[0].to_vector(), ops::linear(x, blocks_of_w.device).to_vector());
    EXPECT_EQ(ys[1].to_vector(), ops::linear(x, numbers.device).to_vector());
    EXPECT_EQ(ys[2].to_vector(), ops::linear(x, wide.device).to_vector());
  }
}

// Bit-identical with any number of threads, and for any place of a row among others.
BACKEND_TEST(Rows, bf16_factors_each_row_is_independent) {
  if (!device.multiplies_bf16()) GTEST_SKIP() << "no products of bf16 factors";
  Random random(81);
  const int64_t M = 600, K = 1100, N = 50;
  const auto x = random.normal(device, {M, K});
  const auto w = in_place(random, device, {N, K}, DType::bf16, DType::bf16);
  const std::vector<float> all = ops::linear(x.device, w.device).to_vector();
  for (int64_t begin = 0, rows = 16; begin + rows <= M; begin += rows, rows = random.between(16, 60)) {
    const std::vector<float> part = ops::linear(x.device.slice(0, begin, begin + rows), w.device).to_vector();
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + begin * N)) << "rows " << begin;
  }
}

// NaN must not become a number.
BACKEND_TEST(Rows, integer_factors_propagate_nan) {
  Random random(76);
  for (const DType dtype : blocks) {
    const int64_t K = 768, N = 40;
    const auto w = in_place(random, device, {N, K}, dtype, DType::i16);
    for (const int64_t M : {1, 3}) {
      std::vector<float> values = random.normal(device, {M, K}).device.to_vector();
      const std::vector<float> before = ops::linear(Tensor::from(device, {M, K}, values), w.device).to_vector();
      for (const float bad : {NAN, INFINITY, -INFINITY}) {
        std::vector<float> x = values;
        x[size_t((M - 1) * K + 517)] = bad;
        const std::vector<float> y = ops::linear(Tensor::from(device, {M, K}, x), w.device).to_vector();
        for (int64_t i = 0; i < M * N; ++i) {
          if (i / N == M - 1) EXPECT_TRUE(std::isnan(y[size_t(i)])) << name_of(dtype) << " M " << M << " of " << bad;
          else EXPECT_EQ(y[size_t(i)], before[size_t(i)]);
        }
      }
    }
  }
}

// Steps of a kernel may end behind a row, in the next row.
BACKEND_TEST(Rows, a_nan_weight_affects_only_its_row) {
  Random random(79);
  for (const DType dtype : blocks)
    for (const int64_t K : {256, 896, 1280, 1504}) {
      if (K % block_of(dtype).values != 0 || scales_of(dtype).empty()) continue;
      const int64_t N = 40, bad = 17, row_bytes = int64_t(bytes_of(dtype, K));
      const auto x = random.normal(device, {1, K});
      Tensor spoilt = rows_of(device, {N, K}, random.normal(test::reference_backend(), {N, K}).reference.to_vector(), dtype);
      const auto run = [&] {
        const WeightForm form{.hold = dtype, .factors = DType::i16, .in_place = true};
        return ops::linear(x.device, Weight{"w", {N, K}, form, device.prepare(spoilt, WeightKind::linear, form), &device}).to_vector();
      };
      const std::vector<float> before = run();
      const uint16_t nan = 0x7e00;
      for (const size_t at : scales_of(dtype)) std::memcpy(spoilt.raw() + bad * row_bytes + int64_t(at), &nan, sizeof nan);
      const std::vector<float> after = run();
      for (int64_t n = 0; n < N; ++n) {
        if (n == bad) EXPECT_TRUE(std::isnan(after[size_t(n)])) << name_of(dtype) << " K " << K;
        else EXPECT_EQ(after[size_t(n)], before[size_t(n)]) << name_of(dtype) << " K " << K << " row " << n;
      }
    }
}

// Blocks of zeros, of very large and of very small values, next to usual ones.
BACKEND_TEST(Rows, integer_factors_of_any_magnitude) {
  Random random(77);
  for (const DType dtype : blocks) {
    const int64_t K = 256, N = 40;
    const auto w = in_place(random, device, {N, K}, dtype, DType::i16);
    for (const int64_t M : {1, 3})
      for (const float size : {0.0f, 1e-45f, 1e-38f, 0x1p-100f, 1e-20f, 1e30f}) {
        const std::vector<float> usual = random.normal(device, {M, K}).device.to_vector();
        for (const bool all : {true, false}) {
          std::vector<float> x = usual;
          for (size_t i = 0; i < x.size(); ++i)
            if (all || i / 32 % 3 == 1) x[i] *= size;
          const Tensor y = ops::linear(Tensor::from(device, {M, K}, x), w.device);
          const Tensor right = ops::linear(Tensor::from(test::reference_backend(), {M, K}, x), w.reference);
          SCOPED_TRACE(fmt::format("{} M {} size {} all {}", name_of(dtype), M, size, all));
          for (const float v : y.to_vector()) ASSERT_TRUE(std::isfinite(v));
          if (all && size <= 1e-38f) {
            for (const float v : y.to_vector()) ASSERT_EQ(v, 0);
          } else if (!all || size >= 1e-20f) {  // otherwise products of scales may be subnormal
            EXPECT_CLOSE(y, right, test::op_tolerance(DType::f32));
          }
        }
      }
  }
}

BACKEND_TEST(Rows, embedding_of_blocks) {
  Random random(74);
  const std::vector<float> values = random.normal(test::reference_backend(), {7, 64}).reference.to_vector();
  const Tensor table = rows_of(device, {7, 64}, values, DType::q8_0).to(device);
  const std::vector<int32_t> ids{6, 0, 3};
  const std::vector<float> all = table.to_vector(), y = ops::embedding(ids, table).to_vector();
  for (const size_t i : {0, 1, 2}) {
    const size_t row = std::array{6, 0, 3}[i];
    EXPECT_TRUE(std::equal(y.begin() + int64_t(i) * 64, y.begin() + int64_t(i + 1) * 64, all.begin() + int64_t(row) * 64));
  }
}

}  // namespace
}  // namespace hearth
