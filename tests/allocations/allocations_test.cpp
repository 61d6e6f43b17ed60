// The hot loop needs no memory: pieces of work allocate nothing, an op allocates a few small blocks (the handles of its
// tensors), and a step of the denoiser requests nothing from the system.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "allocations/counting.h"
#include "backends/cpu/memory.h"
#include "core/factors.h"
#include "core/memory.h"
#include "core/quantized/blocks.h"
#include "core/threads.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/pool.h"
#include "ops/recurrence.h"
#include "ops/rope.h"
#include "ops/select.h"
#include "ops/shape_ops.h"
#include "parts/unet/unet.h"
#include "support/backend_test.h"
#include "weights/seeded.h"

namespace hearth::test {
namespace {

// Gives every thread all the scratch memory that it may ever need: the pieces wait for each other, so that each has its own thread.
void take_scratch(Backend& device) {
  std::atomic<int> arrived{0};
  device.threads().run(device.threads().size(), [&](int64_t) {
    cpu::thread_scratch(cpu::most_scratch / sizeof(float));
    for (++arrived; arrived < device.threads().size();) std::this_thread::yield();
  });
}

struct Case {
  std::string name;
  std::function<void()> run;
};

class Operations {
 public:
  // `size` scales the tensors, not the weights.
  Operations(Backend& device, int64_t size) : device_(device) {
    std::vector<WeightForm> forms = {{}, {.hold = DType::f16}, {.hold = DType::bf16}};
    if (device.multiplies_bf16()) forms.push_back({.hold = DType::bf16, .factors = DType::bf16});
    const int64_t side = 10 * size, tokens = 100 * size;
    for (const WeightForm& form : forms) {
      const std::string of = fmt::format(" of weights {} and factors {}", name_of(form.hold), name_of(form.factors));
      for (const DType dtype : {DType::f32, DType::f16}) {
        const std::string with = fmt::format("{}, x {}", of, name_of(dtype));
        const Tensor x = tensor({2, tokens, 96}, dtype), image = tensor({2, side, side, 96}, dtype),
                     few = tensor({2, side, side, 5}, dtype);
        add("linear" + with, [=, w = weight({130, 96}, WeightKind::linear, form)] { ops::linear(x, w); });
        add("linear with every epilogue" + with,
            [=, w = weight({96, 96}, WeightKind::linear, form), bias = tensor({96}), per_image = tensor({2, 96})] {
              ops::linear(x, w, bias,
                          {.alpha = 0.5f,
                           .activation = Activation::gelu,
                           .per_image = per_image,
                           .gate = per_image,
                           .residual = x,
                           .out = DType::bf16});
            });
        add("linear over several chunks" + with,
            [=, w = weight({64, 1100}, WeightKind::linear, form), deep = tensor({1, tokens, 1100}, dtype)] { ops::linear(deep, w); });
        add("gated linear unit" + with,
            [=, w = weight({2 * 72, 96}, WeightKind::glu, form)] { ops::linear(x, w, {}, {.activation = Activation::gelu}); });
        const auto conv = [&](const std::string& name, const Tensor& input, const Shape& shape, const ConvSpec& spec) {
          add(name + with, [=, w = weight(shape, WeightKind::conv, form)] { ops::conv(input, w, {}, spec); });
        };
        ConvSpec doubled = ConvSpec::same(3);
        doubled.resize_to = {2 * side, 2 * side};
        conv("conv 1x1", image, {64, 96, 1, 1}, {});
        conv("conv 3x3 of few channels", few, {40, 5, 3, 3}, ConvSpec::same(3));
        conv("conv 3x3 to few channels", image, {4, 96, 3, 3}, ConvSpec::same(3));
        conv("conv 3x3 of stride 2", image, {64, 96, 3, 3}, ConvSpec::plane(2, {0, 0, 1, 1}));
        conv("conv 3x3 by Winograd", image, {70, 96, 3, 3}, ConvSpec::same(3));
        conv("conv 3x3 by Winograd on a doubled image", image, {70, 96, 3, 3}, doubled);
        const auto grouped = [&](const std::string& name, const Tensor& input, WeightKind kind, const Shape& shape, int64_t groups,
                                 const ConvSpec& spec) {
          WeightForm own = form;
          own.groups = groups;
          add(name + with, [=, w = weight(shape, kind, own)] { ops::conv(input, w, {}, spec); });
        };
        const ConvSpec::Axis same{.before = 1, .after = 1}, repeated{.before = 2, .edge = ConvSpec::Edge::nearest};
        grouped("conv 3x3 of two groups", image, WeightKind::conv, {64, 48, 3, 3}, 2, ConvSpec::same(3));
        grouped("conv 3x3 of each channel", image, WeightKind::conv, {96, 1, 3, 3}, 96, ConvSpec::same(3));
        grouped("conv over frames", tensor({1, 3, side, 10, 20}, dtype), WeightKind::conv, {24, 20, 3, 3, 3}, 1,
                {.frames = repeated, .rows = same, .columns = same});
        grouped("transposed conv", image, WeightKind::conv_transposed, {96, 20, 4, 4}, 1, ConvSpec::plane(2, {1, 1, 1, 1}));
        const GroupNormSpec norm{.groups = 8, .gamma = tensor({96}), .beta = tensor({96}), .activation = Activation::silu};
        add("linear of a normalized x" + with, [=, w = weight({64, 96}, WeightKind::linear, form)] { ops::linear(x, w, {}, {}, norm); });
        add("conv of a normalized x" + with,
            [=, w = weight({64, 96, 3, 3}, WeightKind::conv, form)] { ops::conv(image, w, {}, ConvSpec::same(3), {}, norm); });
      }
    }
    // One row, and several chunks of k and blocks of rows.
    for (const DType dtype : {DType::f32, DType::bf16, DType::q8_0, DType::q4_k, DType::q5_0, DType::q6_k})
      for (const DType factors : {DType::f32, DType::i16, DType::bf16}) {
        const WeightForm form{.hold = dtype, .factors = factors, .in_place = true};
        if (!has_products(device, form)) continue;
        for (const int64_t rows : {int64_t(1), 2 * tokens})
          add(fmt::format("linear of {} rows in place, {} and factors {}", rows == 1 ? "one" : "many", name_of(dtype), name_of(factors)),
              [=, w = weight({130, 1280}, WeightKind::linear, form), x = tensor({1, rows, 1280})] { ops::linear(x, w); });
      }
    for (const DType dtype : {DType::f32, DType::q8_0}) {
      const Tensor q = tensor({tokens, 6, 32}), one = tensor({1, 6, 32});
      const KeyValues cache{.k = tensor({tokens, 2, 32}, dtype), .v = tensor({tokens, 2, 32}, dtype)};
      add(fmt::format("cached attention, {}", name_of(dtype)), [=] { ops::cached_attention(q, cache, {.scale = 0.1f}); });
      KeyValues before_one = cache;
      before_one.first = tokens - 1;
      add(fmt::format("cached attention of one query, {}", name_of(dtype)),
          [=] { ops::cached_attention(one, before_one, {.scale = 0.1f}); });
      if (dtype == DType::f32) add("rotary positions", [=, table = tensor({tokens, 2, 16})] { ops::rope(q, table, RotaryPairs::halves); });
    }
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const std::string with = fmt::format(", x {}", name_of(dtype));
      const Tensor q = tensor({2, tokens, 3, 40}, dtype), k = tensor({2, 77, 3, 40}, dtype), one = tensor({1, tokens, 1, 200}, dtype);
      std::vector<DType> factors = {DType::f32};
      if (device.multiplies_bf16()) factors.push_back(DType::bf16);
      for (const DType f : factors) {
        const std::string of = fmt::format(" of factors {}{}", name_of(f), with);
        add("self-attention" + of, [=] { ops::attention(q, q, q, {.scale = 0.1f, .factors = f}); });
        add("causal attention" + of, [=] { ops::attention(q, q, q, {.scale = 0.1f, .mask = Mask::causal, .factors = f}); });
        add("cross-attention" + of, [=] { ops::attention(q, k, k, {.scale = 0.1f, .factors = f}); });
        add("attention with everything" + of,
            [=, k = tensor({2, tokens, 1, 40}, dtype), bias = tensor({1, 3, tokens, tokens}), sinks = tensor({3})] {
              ops::attention(q, k, k,
                             {.scale = 0.1f,
                              .mask = Mask::causal,
                              .factors = f,
                              .window = 50,
                              .soft_cap = 5,
                              .bias = bias,
                              .key_lengths = {tokens, 7},
                              .sinks = sinks});
            });
        add("attention of a wide head" + of, [=] { ops::attention(one, one, one, {.scale = 0.1f, .factors = f}); });
      }
      const Tensor x = tensor({2, tokens, 96}, dtype), image = tensor({2, side, side, 96}, dtype), gamma = tensor({96}),
                   table = tensor({2, 96 * size}, dtype);
      add("group norm" + with,
          [=] { ops::group_norm(image, {.groups = 8, .gamma = gamma, .beta = gamma, .activation = Activation::silu}); });
      add("layer norm" + with, [=] { ops::layer_norm(x, {.gamma = gamma, .beta = gamma}); });
      add("RMS norm" + with, [=] { ops::rms_norm(x, {.gamma = gamma, .eps = 1e-5f}); });
      add("modulated norms" + with, [=, by_image = tensor({2, 96})] {
        ops::layer_norm(x, {.scale = by_image, .shift = by_image});
        ops::rms_norm(x, {.gamma = gamma, .scale = by_image});
      });
      add("products by element" + with, [=, by_image = tensor({2, 96})] {
        ops::multiply(x, x);
        ops::affine(x, by_image, by_image);
      });
      add("rotary positions" + with, [=, table = tensor({2, tokens, 1, 2, 20})] { ops::rope(q, table, RotaryPairs::neighbors); });
      add("the largest" + with, [=] { ops::top_k(x, 7); });
      const Tensor rows = tensor({tokens, 96}, dtype), numbers = Tensor::from(device_, {tokens}, std::vector<int32_t>(size_t(tokens), 3));
      add("rows" + with, [=, base = tensor({tokens, 96})] {
        ops::gather(rows, numbers);
        ops::scatter_add(base, rows, numbers);
      });
      if (dtype == DType::f32)
        add("recurrences", [=, taps = tensor({4, 96}), tail = tensor({3, 96}), decays = tensor({16, 96}), inputs = tensor({tokens, 16}),
                            steps = tensor({tokens, 3}), own = tensor({3}), state = tensor({3, 16, 32})] {
          ops::causal_conv(rows, taps, {}, tail, Activation::silu);
          ops::selective_scan(rows, rows, decays, inputs, inputs, {}, decays);
          ops::state_space_scan(rows, steps, inputs, inputs, {.a = own}, state);
        });
      add("pool" + with, [=] { ops::pool(image, {.rows = {.size = 2, .stride = 2}, .columns = {.size = 2, .stride = 2}}); });
      add("activation" + with, [=] { ops::activate(x, Activation::silu); });
      add("linear combination" + with, [=] { ops::add(x, x); });
      add("cast" + with, [=] { ops::cast(x, DType::f16); });
      add("concat" + with, [=] { ops::concat({x, x}, 2); });
      add("transpose" + with, [=] { ops::to_channels_first(image); });
      add("resize" + with, [=] { ops::resize_nearest(image, 2 * side, 2 * side); });
      add("embedding" + with, [=] { ops::embedding(std::array{0, 1}, table); });
    }
  }

  std::vector<Case> all;

  Weight weight(const Shape& shape, WeightKind kind, const WeightForm& form) {
    return {.name = "w",
            .shape = shape,
            .form = form,
            .prepared = device_.prepare(tensor(shape, form.in_place ? form.hold : DType::f32), kind, form),
            .backend = &device_,
            .kind = kind};
  }

 private:
  void add(std::string name, std::function<void()> run) { all.push_back({std::move(name), std::move(run)}); }
  Tensor tensor(const Shape& shape, DType dtype = DType::f32) {
    const std::vector<float> values = seeded_values("x", shape);
    if (!is_blocked(dtype)) return Tensor::from(device_, shape, values, dtype);
    Tensor blocks = Tensor::empty(device_, shape, dtype);
    encode_blocks(dtype, values.data(), shape.numel(), blocks.raw());
    return blocks;
  }
  Backend& device_;
};

class AllocationsTest : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Backend> make(int threads) const {
    std::unique_ptr<Backend> device = make_test_backend(GetParam(), threads);
    if (device) take_scratch(*device);
    return device;
  }
};

INSTANTIATE_TEST_SUITE_P(Paths, AllocationsTest, testing::Values("cpu_avx2", "cpu_avx512", "cpu_avx512bf16", "cpu_amx", "cpu_emulated"),
                         [](const auto& path) { return path.param; });

bool printing() { return std::getenv("HEARTH_PRINT_ERRORS") != nullptr; }

// Nor does the thread that calls the op: its pieces look the same on any thread.
TEST_P(AllocationsTest, no_piece_of_work_allocates) {
  for (const int threads : {1, 3}) {
    const auto device = make(threads);
    if (!device) GTEST_SKIP() << GetParam() << ": not supported by this CPU";
    std::vector<int64_t> calls;
    for (const int64_t size : {1, 2}) {
      const Operations operations(*device, size);
      for (size_t i = 0; i < operations.all.size(); ++i) {
        const Case& c = operations.all[i];
        SCOPED_TRACE(fmt::format("{}, size {}, {} threads", c.name, size, threads));
        c.run();
        const Allocations taken = allocations_of(c.run);
        if (printing()) fmt::print("{}: {} calls, the largest of {} bytes\n", c.name, taken.calls, taken.largest);
        EXPECT_EQ(taken.in_pieces, 0);
        EXPECT_EQ(taken.aligned, 0);
        EXPECT_EQ(taken.mapped, 0);
        EXPECT_LE(taken.largest, 1024);
        EXPECT_LE(taken.calls, 40);  // 33
        if (size == 1) calls.push_back(taken.calls);
        else EXPECT_NEAR(double(taken.calls), double(calls[i]), 4);  // none per row, block or piece; holes between tensors differ
      }
    }
  }
}

// In strips, each of which is a separate op.
TEST_P(AllocationsTest, no_piece_of_a_large_normalized_input_allocates) {
  const auto device = make(2);
  if (!device) GTEST_SKIP() << GetParam() << ": not supported by this CPU";
  Operations made(*device, 1);
  const Tensor image = Tensor::filled(*device, {1, 150, 230, 256}, 0.5f), flat = image.view({1, 150 * 230, 256}),
               gamma = Tensor::filled(*device, {256}, 1);
  const GroupNormSpec norm{.groups = 8, .gamma = gamma, .beta = gamma, .activation = Activation::silu};
  const Weight conv = made.weight({20, 256, 3, 3}, WeightKind::conv, {}), linear = made.weight({20, 256}, WeightKind::linear, {});
  for (const auto& run : std::vector<std::function<void()>>{[&] { ops::conv(image, conv, {}, ConvSpec::plane(2), {}, norm); },
                                                            [&] { ops::linear(flat, linear, {}, {}, norm); }}) {
    run();
    const Allocations taken = allocations_of(run);
    EXPECT_EQ(taken.in_pieces, 0);
    EXPECT_EQ(taken.aligned, 0);
    EXPECT_EQ(taken.mapped, 0);
    EXPECT_LE(taken.largest, 4096);
  }
}

TEST_P(AllocationsTest, a_step_requests_nothing_from_the_system) {
  for (const int threads : {1, 3}) {
    const auto device = make(threads);
    if (!device) GTEST_SKIP() << GetParam() << ": not supported by this CPU";
    LoadOptions options;
    if (device->multiplies_bf16()) options.types = {.hold = DType::bf16, .factors = DType::bf16};
    Weights weights = Weights::seeded(*device, options);
    const auto config = parts::UnetConfig::from(Config::load(HEARTH_SOURCE_DIR "/assets/demo-model/unet/config.json"));
    const parts::Unet unet(Scope(weights), config);
    std::vector<int64_t> calls;
    for (const int64_t side : device->features() == "emulated" ? std::vector<int64_t>{8} : std::vector<int64_t>{8, 16, 24}) {
      const Shape shape{2, side, side, config.in_channels}, context_shape{2, 77, config.context};
      const Tensor x = Tensor::from(*device, shape, seeded_values("x", shape)),
                   context = Tensor::from(*device, context_shape, seeded_values("context", context_shape));
      const float timestep = 500;
      const auto step = [&] { unet(x, {&timestep, 1}, {.context = context}); };
      const MemoryWatch whole(MemoryLedger::process());
      step();
      const int64_t held = MemoryLedger::process().use().now, first = whole.peak();
      const MemoryWatch again(MemoryLedger::process());
      const Allocations taken = allocations_of(step);
      if (printing()) fmt::print("step of {}: {} calls, the largest of {} bytes\n", shape, taken.calls, taken.largest);
      EXPECT_EQ(MemoryLedger::process().use().now, held);
      EXPECT_LE(again.peak(), first);
      EXPECT_EQ(taken.in_pieces, 0);
      EXPECT_EQ(taken.aligned, 0);
      EXPECT_EQ(taken.mapped, 0);
      EXPECT_LE(taken.largest, 4096);  // 1344: the largest list of handles
      calls.push_back(taken.calls);
    }
    // Handles of tensors and the allocator's records of holes between them: nearly as many for any size.
    for (const int64_t n : calls) EXPECT_NEAR(double(n), double(calls[0]), 0.1 * double(calls[0]));
    EXPECT_LE(calls[0], 3500);  // 2352 in f32, 3059 with bf16 factors
  }
}

}  // namespace
}  // namespace hearth::test
