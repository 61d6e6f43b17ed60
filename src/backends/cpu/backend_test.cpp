// The CPU backend as a whole: block edges, threads, batches, memory. The semantics of each op are tested in ops/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/product.h"
#include "backends/cpu/products/route.h"
#include "core/memory.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/random_test.h"
#include "ops/shape_ops.h"

namespace hearth {
namespace {

using test::Random;

class CpuTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!cpu_path_available(GetParam())) GTEST_SKIP() << "this CPU lacks " << GetParam();
    owned = make_cpu_backend(GetParam(), 2);
  }
  Backend& device() { return *owned; }
  std::unique_ptr<Backend> owned;
};

INSTANTIATE_TEST_SUITE_P(paths, CpuTest, ::testing::Values("avx2", "avx512", "avx512bf16", "amx"));

TEST_P(CpuTest, linear_at_the_edges_of_tiles_panels_and_chunks) {
  Random random(1);
  for (const int64_t M : {1, 5, 6, 7, 13, 14, 15, 29})
    for (const int64_t N : {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 49, 65})
      for (const int64_t K : {1, 511, 512, 513, 1025}) {
        if ((M * 7 + N * 3 + K) % 4 != 0) continue;  // a quarter of the combinations, evenly spread
        const DType hold = random.dtype(), type = random.dtype();
        const auto x = random.normal(device(), {1, M, K}, type), residual = random.normal(device(), {1, M, N}, type);
        const auto w = random.weight(device(), {N, K}, WeightKind::linear, {.hold = hold});
        const auto bias = random.normal(device(), {N});
        SCOPED_TRACE(fmt::format("M {} N {} K {} x {} w {}", M, N, K, name_of(type), name_of(hold)));
        EXPECT_CLOSE(
            ops::linear(x.device, w.device, bias.device, {.activation = Activation::silu, .residual = residual.device}),
            ops::linear(x.reference, w.reference, bias.reference, {.activation = Activation::silu, .residual = residual.reference}),
            test::op_tolerance(type));
      }
}

TEST_P(CpuTest, a_product_over_many_panels_and_row_blocks) {
  Random random(2);
  const auto x = random.normal(device(), {3, 171, 96});
  const auto w = random.weight(device(), {515, 96}, WeightKind::linear, {.hold = DType::f16});
  const auto image = random.normal(device(), {3, 515});
  EXPECT_CLOSE(ops::linear(x.device, w.device, {}, {.alpha = 0.5f, .per_image = image.device}),
               ops::linear(x.reference, w.reference, {}, {.alpha = 0.5f, .per_image = image.reference}), 2e-6);
}

TEST_P(CpuTest, conv_with_few_channels_and_runs_across_chunks) {
  Random random(3);
  for (const int64_t C : {1, 3, 4, 15, 16, 17, 60, 130})
    for (const int64_t kernel : {1, 2, 3, 7}) {
      const int64_t size = kernel + random.between(0, 4), O = random.between(1, 40);
      const auto x = random.normal(device(), {2, size, size + 1, C});
      const auto w = random.weight(device(), {O, C, kernel, kernel}, WeightKind::conv, {.hold = random.dtype()});
      ConvSpec spec =
          ConvSpec::plane(random.between(1, 3), {random.between(0, 2), random.between(0, 2), random.between(0, 2), random.between(0, 2)});
      if (random.chance()) spec.resize_to = {size * 2, size + 3};
      SCOPED_TRACE(fmt::format("C {} kernel {} O {} stride {} resize {}", C, kernel, O, spec.rows.stride, spec.resize_to[0]));
      EXPECT_CLOSE(ops::conv(x.device, w.device, {}, spec), ops::conv(x.reference, w.reference, {}, spec), 2e-6);
    }
}

// Convolutions with winograd_pays, of sizes that are not multiples of 4 × 4 outputs, with every epilogue.
TEST_P(CpuTest, winograd_at_every_edge) {
  Random random(9);
  for (const auto& [C, O, H, W] : std::vector<std::array<int64_t, 4>>{
           {64, 64, 1, 1}, {64, 65, 2, 5}, {65, 80, 9, 7}, {100, 97, 4, 4}, {70, 64, 13, 18}, {390, 64, 6, 5}}) {
    const Shape shape{O, C, 3, 3};
    ConvSpec spec = ConvSpec::same(3);
    if (H == 9) spec = ConvSpec::plane(1, {0, 2, 1, 0});
    if (W == 18) spec.resize_to = {19, 36};
    ASSERT_TRUE(cpu::winograd_pays(shape, spec));
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      const DType out = random.dtype();
      const auto x = random.normal(device(), {2, H, W, C}, type);
      const auto w = random.weight(device(), shape, WeightKind::conv, {.hold = random.dtype()});
      const auto bias = random.normal(device(), {O}), image = random.normal(device(), {2, O});
      const Shape y = ops::conv(x.device, w.device, {}, spec).shape();
      const auto residual = random.normal(device(), y, out);
      SCOPED_TRACE(fmt::format("C {} O {} x {} {} y {} {} w {}", C, O, x.device.shape(), name_of(type), y, name_of(out),
                               name_of(w.device.form.hold)));
      EXPECT_CLOSE(
          ops::conv(x.device, w.device, bias.device, spec,
                    {.alpha = 0.7f, .activation = Activation::silu, .per_image = image.device, .residual = residual.device, .out = out}),
          ops::conv(
              x.reference, w.reference, bias.reference, spec,
              {.alpha = 0.7f, .activation = Activation::silu, .per_image = image.reference, .residual = residual.reference, .out = out}),
          test::op_tolerance(out));
    }
  }
}

// Larger than a cache: normalized in strips that are bit-identical to the whole and need no memory of the size of x.
TEST_P(CpuTest, strips_of_a_normalized_input_equal_the_whole) {
  Random random(11);
  const struct {
    Shape x, w;
    ConvSpec spec;
  } cases[] = {{{2, 81, 210, 256}, {64, 256, 3, 3}, ConvSpec::same(3)},                    // Winograd
               {{1, 150, 230, 256}, {20, 256, 3, 3}, ConvSpec::plane(2, {0, 0, 1, 1})},    // gathered
               {{1, 150, 230, 256}, {20, 256, 1, 1}, ConvSpec::plane(3, {70, 0, 40, 2})},  // strips of padding alone
               {{1, 35000, 1, 256}, {20, 256, 5, 1}, ConvSpec::plane(1, {1, 0, 3, 0})}};
  for (const auto& [shape, w_shape, spec] : cases) {
    SCOPED_TRACE(fmt::format("x {} w {}", shape, w_shape));
    const auto x = random.normal(device(), shape).device;
    const int64_t C = shape[3];
    ASSERT_GT(x.bytes(), size_t(32) << 20);
    const auto gamma = random.normal(device(), {C}).device, beta = random.normal(device(), {C}).device;
    const auto w = random.weight(device(), w_shape, WeightKind::conv, {.hold = DType::f16}).device;
    const auto image = random.normal(device(), {shape[0], w_shape[0]}).device;
    const Tensor plain = ops::conv(ops::group_norm(x, {.groups = 32, .gamma = gamma, .beta = beta, .activation = Activation::silu}), w, {},
                                   spec, {.per_image = image});
    const auto gate = random.normal(device(), {shape[0], w_shape[0]}).device;
    const Epilogue e{.per_image = image, .gate = gate, .residual = plain};
    const std::vector<float> right =
        ops::conv(ops::group_norm(x, {.groups = 32, .gamma = gamma, .beta = beta, .activation = Activation::silu}), w, {}, spec, e)
            .to_vector();
    const int64_t before = device().ledger().use().now;
    const MemoryWatch watch(device().ledger());
    const Tensor y = ops::conv(x, w, {}, spec, e, {32, gamma, beta, 1e-5f, Activation::silu});
    EXPECT_LT(watch.peak() - before - int64_t(y.bytes()), int64_t(20) << 20);  // strip, patches
    EXPECT_EQ(y.to_vector(), right);
  }
}

TEST_P(CpuTest, strips_of_tokens_equal_the_whole) {
  Random random(12);
  const auto x = random.normal(device(), {2, 18001, 256}).device, image = random.normal(device(), {2, 33}).device;
  const auto gamma = random.normal(device(), {256}).device, beta = random.normal(device(), {256}).device;
  const auto w = random.weight(device(), {33, 256}, WeightKind::linear, {.hold = DType::f16}).device;
  const Tensor plain = ops::linear(ops::group_norm(x, {.groups = 32, .gamma = gamma, .beta = beta}), w, {}, {.per_image = image});
  EXPECT_EQ(ops::linear(x, w, {}, {.per_image = image}, {32, gamma, beta, 1e-5f}).to_vector(), plain.to_vector());
}

// Every op on shapes that are split into many pieces, from the same values on a given number of threads.
std::vector<std::vector<float>> everything(const char* path, int threads) {
  const auto owned = make_cpu_backend(path, threads);
  Backend& device = *owned;
  Random random(4);
  std::vector<std::vector<float>> results;
  const auto add = [&](const Tensor& t) { results.push_back(t.to_vector()); };
  for (const DType type : {DType::f32, DType::f16}) {
    const Tensor x = random.normal(device, {2, 13, 17, 64}, type).device, tokens = x.view({2, 221, 64});
    add(ops::linear(tokens, random.weight(device, {97, 64}, WeightKind::linear, {.hold = type}).device));
    add(ops::conv(x, random.weight(device, {70, 64, 3, 3}, WeightKind::conv, {.hold = type}).device, {}, ConvSpec::same(3)));
    add(ops::conv(x, random.weight(device, {20, 64, 3, 3}, WeightKind::conv, {.hold = type}).device, {}, ConvSpec::same(3)));
    const Tensor q = tokens.view({2, 221, 4, 16});
    add(ops::attention(q, q, q, {.scale = 0.25f}));
    add(ops::attention(q, q, q, {.scale = 0.25f, .mask = Mask::causal}));
    const Tensor gamma = random.normal(device, {64}).device, beta = random.normal(device, {64}).device;
    add(ops::group_norm(random.normal(device, {2, 60, 50, 64}, type).device,
                        {.groups = 8, .gamma = gamma, .beta = beta, .activation = Activation::silu}));
    add(ops::layer_norm(tokens, {.gamma = gamma, .beta = beta}));
    add(ops::rms_norm(tokens, {.gamma = gamma, .eps = 1e-5f}));
    add(ops::linear(tokens, random.weight(device, {66, 64}, WeightKind::glu, {.hold = type}).device, {}, {.activation = Activation::gelu}));
    add(ops::activate(random.normal(device, {70000}, type).device, Activation::gelu));
    add(ops::to_channels_first(x));
    add(ops::cast(x, DType::bf16));
    add(ops::resize_nearest(x, 21, 30));
  }
  return results;
}

TEST_P(CpuTest, independent_of_the_number_of_threads) {
  const auto one = everything(GetParam(), 1);
  for (const int threads : {2, 3, 8}) {
    const auto many = everything(GetParam(), threads);
    ASSERT_EQ(one.size(), many.size());
    for (size_t i = 0; i < one.size(); ++i)
      EXPECT_EQ(std::memcmp(one[i].data(), many[i].data(), one[i].size() * sizeof(float)), 0)
          << "result " << i << " with " << threads << " threads";
  }
}

TEST_P(CpuTest, a_batch_equals_its_single_images) {
  Random random(5);
  const Tensor x = random.normal(device(), {3, 9, 11, 40}).device, deep = random.normal(device(), {3, 10, 9, 64}).device;
  const Tensor gamma = random.normal(device(), {40}).device, beta = random.normal(device(), {40}).device;
  const Weight conv = random.weight(device(), {24, 40, 3, 3}, WeightKind::conv, {.hold = DType::f16}).device,
               flat = random.weight(device(), {50, 40}, WeightKind::linear, {.hold = DType::f32}).device,
               winograd = random.weight(device(), {64, 64, 3, 3}, WeightKind::conv, {.hold = DType::f16}).device;
  const auto all = [&](const Tensor& t, const Tensor& d) {
    const Tensor q = t.view({t.size(0), 99, 4, 10});
    return std::vector<Tensor>{
        ops::conv(t, conv, {}, ConvSpec::same(3)),          ops::linear(t, flat),
        ops::attention(q, q, q, {.scale = 0.3f}),           ops::group_norm(t, {.groups = 4, .gamma = gamma, .beta = beta}),
        ops::layer_norm(t, {.gamma = gamma, .beta = beta}), ops::conv(d, winograd, {}, ConvSpec::same(3))};
  };
  const auto together = all(x, deep);
  for (int64_t b = 0; b < 3; ++b) {
    const auto single = all(ops::contiguous(x.slice(0, b, b + 1)), ops::contiguous(deep.slice(0, b, b + 1)));
    for (size_t i = 0; i < single.size(); ++i)
      EXPECT_EQ(single[i].to_vector(), together[i].slice(0, b, b + 1).to_vector()) << "operation " << i << ", image " << b;
  }
}

TEST_P(CpuTest, channel_order_changes_over_many_blocks) {
  Random random(10);
  for (const auto& [C, H, W] : std::vector<std::array<int64_t, 3>>{{130, 9, 8}, {3, 70, 65}, {65, 64, 1}, {1, 7, 9}})
    for (const DType type : {DType::f32, DType::f16}) {
      const auto x = random.normal(device(), {2, H, W, C}, type);
      const Tensor turned = ops::to_channels_first(x.device);
      EXPECT_EQ(turned.to_vector(), ops::to_channels_first(x.reference).to_vector()) << C << " " << H << " " << W;
      EXPECT_EQ(ops::to_channels_last(turned).to_vector(), x.reference.to_vector()) << C << " " << H << " " << W;
    }
}

// G-79: scores of 3·10⁵ that differ by 1.
TEST_P(CpuTest, scores_of_300000_keep_their_differences) {
  const int64_t S = 300, D = 2;
  std::vector<float> q{3e5f, 1}, k(size_t(S * D)), v(size_t(S * D));
  for (int64_t s = 0; s < S; ++s)
    k[size_t(2 * s)] = 1, k[size_t(2 * s + 1)] = s == 280 ? 0.0f : -1.0f, v[size_t(2 * s)] = s == 280 ? 1.0f : 0.0f,
                 v[size_t(2 * s + 1)] = 1;
  const auto y = ops::attention(Tensor::from(device(), {1, 1, 1, D}, q), Tensor::from(device(), {1, S, 1, D}, k),
                                Tensor::from(device(), {1, S, 1, D}, v), {.scale = 1})
                     .to_vector();
  EXPECT_NEAR(y[0], 1 / (1 + (S - 1) * std::exp(-1.0)), 1e-6);
  EXPECT_NEAR(y[1], 1, 1e-6);
}

// Every kernel flushes subnormals to zero, so that they cost nothing; their contribution is below the last bit of any result.
TEST_P(CpuTest, subnormal_inputs_count_as_zero) {
  const Tensor tiny = Tensor::from(device(), {1, 3, 40}, std::vector<float>(120, 1e-40f));
  const Weight w = Random(6).weight(device(), {20, 40}, WeightKind::linear, {.hold = DType::f32}).device;
  for (const float v : ops::linear(tiny, w, {}, {.alpha = 1e30f}).to_vector()) EXPECT_EQ(v, 0.0f);
  // Subnormal values of f16 are normal in f32.
  const Tensor half = Tensor::from(device(), {1, 1, 40}, std::vector<float>(40, 6e-8f), DType::f16);
  for (const float v : ops::activate(half, Activation::none).to_vector()) EXPECT_NEAR(v, 5.96e-8f, 1e-10f);
}

TEST_P(CpuTest, a_weight_has_the_bytes_of_its_dtype_and_is_counted) {
  const int64_t before = MemoryLedger::process().use().now;
  {
    Random random(7);
    const auto half = random.weight(device(), {320, 100}, WeightKind::linear, {.hold = DType::f16}),
               full = random.weight(device(), {320, 100}, WeightKind::linear, {.hold = DType::f32});
    EXPECT_EQ(half.device.prepared->bytes, size_t(320 * 100 * 2));
    EXPECT_EQ(full.device.prepared->bytes, size_t(320 * 100 * 4));
    EXPECT_GE(MemoryLedger::process().use().now - before, 320 * 100 * 6);
  }
  owned->release_cached();
  EXPECT_LT(MemoryLedger::process().use().now - before, 1 << 20);  // thread scratch remains
}

TEST_P(CpuTest, a_weight_may_be_at_any_byte_of_a_mapped_file) {
  Random random(8);
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const auto w = random.normal(device(), {33, 40}, type), x = random.normal(device(), {1, 4, 40});
    auto bytes = std::make_shared<std::vector<std::byte>>(w.device.bytes() + 1);
    std::memcpy(bytes->data() + 1, w.device.raw(), w.device.bytes());
    const auto storage = std::make_shared<Storage>(Storage{bytes->data() + 1, w.device.bytes(), &device(), bytes});
    const auto weight = [&](Backend& backend, const Tensor& t) {
      return Weight{.name = "w",
                    .shape = t.shape(),
                    .form = {.hold = type},
                    .prepared = backend.prepare(t, WeightKind::linear, {.hold = type}),
                    .backend = &backend};
    };
    EXPECT_CLOSE(ops::linear(x.device, weight(device(), Tensor(storage, {33, 40}, type))),
                 ops::linear(x.reference, weight(test::reference_backend(), w.reference)), 2e-6);
  }
}

TEST(Arena, reuses_memory_and_counts_up_to_the_highest_block) {
  MemoryLedger ledger;
  const auto arena = std::make_shared<cpu::Arena>(cpu::Arena::Behind::memory, ledger);
  const std::byte* first = nullptr;
  for (const size_t size : {size_t(3) << 20, size_t(0), size_t(1), size_t(64), size_t(4097)}) {
    auto block = arena->allocate(size);
    if (!first) first = block.get();
    EXPECT_EQ(block.get(), first) << size;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % 64, 0u) << size;
    std::memset(block.get(), 1, size);
  }
  EXPECT_EQ(ledger.use().now, (3 << 20) + 64);  // a gap follows each block
  const auto low = arena->allocate(100);
  {
    const auto high = arena->allocate(10000);
    EXPECT_EQ(high.get() - low.get(), 192);
  }
  EXPECT_EQ(ledger.use().now, (3 << 20) + 64);
  arena->release_cached();
  EXPECT_EQ(ledger.use().now, 192);
  EXPECT_THROW(arena->allocate(size_t(1) << 60), Error);
  EXPECT_THROW(arena->allocate(SIZE_MAX), Error);
}

// Unused pages are returned to the system, also between blocks.
TEST(Arena, returns_pages_to_the_system) {
  constexpr size_t size = size_t(64) << 20;
  MemoryLedger ledger;
  const auto arena = std::make_shared<cpu::Arena>(cpu::Arena::Behind::memory, ledger);
  auto hole = arena->allocate(size);
  const auto stays = arena->allocate(size);
  std::memset(hole.get(), 1, size);
  std::memset(stays.get(), 2, size);
  const int64_t before = process_resident_bytes();
  hole.reset();
  EXPECT_GT(process_resident_bytes(), before - int64_t(size / 2));
  arena->release_cached();
  EXPECT_LT(process_resident_bytes(), before - int64_t(size * 9 / 10));
  for (size_t i = 0; i < size; i += 4096) ASSERT_EQ(stays.get()[i], std::byte(2));
}

TEST(Arena, a_dry_run_places_blocks_identically) {
  MemoryLedger with, without;
  const auto real = std::make_shared<cpu::Arena>(cpu::Arena::Behind::memory, with);
  const auto dry = std::make_shared<cpu::Arena>(cpu::Arena::Behind::nothing, without);
  std::vector<std::pair<std::shared_ptr<std::byte>, std::shared_ptr<std::byte>>> blocks;
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    if (random() % 3 == 0 && !blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      blocks.pop_back();
    } else {
      const size_t size = random() % 100000;
      blocks.emplace_back(real->allocate(size), dry->allocate(size));
    }
    for (const auto& [a, b] : blocks) ASSERT_EQ(a.get() - blocks[0].first.get(), b.get() - blocks[0].second.get());
    ASSERT_EQ(with.use().now, without.use().now);
  }
  EXPECT_NE(dry->allocate(size_t(1) << 60), nullptr);  // a plan may exceed the memory of any machine
}

TEST(Arena, a_tensor_may_outlive_its_backend) {
  Tensor x;
  {
    const auto backend = make_cpu_backend(cpu_paths().at(0), 1);
    x = Tensor::from(*backend, {3}, std::vector<float>{1, 2, 3});
  }
  EXPECT_EQ(x.to_vector(), (std::vector<float>{1, 2, 3}));
}

}  // namespace
}  // namespace hearth
