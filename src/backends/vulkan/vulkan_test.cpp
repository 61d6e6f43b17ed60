// What the ops' tests do not see: memory, long work, many runs, compiled shaders on disk, the layers that validate.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/backends.h"
#include "backends/vulkan/vulkan_class.h"
#include "core/factors.h"
#include "core/memory.h"
#include "core/observe.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/tolerance.h"

namespace hearth::vulkan {
namespace {

namespace fs = std::filesystem;

#define DEVICE(name)                           \
  auto device = test::make_test_backend(name); \
  if (!device) GTEST_SKIP() << "this machine has no driver of Vulkan"

std::vector<float> numbers(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(float(i * 37 % 101) / 50 - 1);
  return values;
}

Weight weight(Backend& device, const Shape& shape, WeightKind kind, const WeightForm& form) {
  Weight w{.name = "w", .shape = shape, .form = form, .backend = &device, .kind = kind};
  w.prepared = device.prepare(Tensor::from(device.host(), shape, numbers(shape.numel()), form.hold), kind, w.form);
  return w;
}

// Ops that need memory of their own.
struct Block {
  explicit Block(Backend& device, const WeightForm& form = {.hold = DType::f16}, int64_t side = 8)
      : x(device.computes() ? Tensor::from(device, {1, side, side, 32}, numbers(side * side * 32))
                            : Tensor::empty(device, {1, side, side, 32})),
        conv(weight(device, {32, 32, 3, 3}, WeightKind::conv, form)),
        linear(weight(device, {32, 32}, WeightKind::linear, form)) {}

  Tensor run() const {
    const DType factors = linear.form.factors;
    Tensor y = ops::conv(x, conv, {}, ConvSpec::same(3), {}, {.groups = 4, .activation = Activation::silu});
    const int64_t T = x.size(1) * x.size(2);
    y = ops::linear(y.view({1, T, 32}), linear, {}, {.stored = keys_of(factors)}, {.groups = 2});
    const Tensor heads = y.view({1, T, 2, 16});
    y = ops::attention(heads, heads, heads, {.scale = 0.25f, .factors = factors, .stored = read_by(linear)}).view({1, T, 32});
    y = ops::linear(y, linear);
    return ops::activate(ops::layer_norm(y, {}), Activation::gelu);
  }

  Tensor x;
  Weight conv, linear;
};

TEST(Vulkan, a_thousand_runs_need_no_more_memory_than_one) {
  DEVICE("vulkan");
  const Block b(*device);
  const std::vector<float> first = b.run().to_vector();
  for (int i = 0; i < 20; ++i) b.run();
  device->finish();
  const int64_t peak = device->ledger().use().peak, resident = process_resident_bytes();
  for (int i = 0; i < 1000; ++i) b.run();
  EXPECT_EQ(b.run().to_vector(), first);
  EXPECT_EQ(device->ledger().use().peak, peak);
  EXPECT_LT(process_resident_bytes() - resident, 16 << 20);
}

// What is being computed when the backend ends, as after an error, still has its memory.
TEST(Vulkan, ends_while_the_card_computes) {
  DEVICE("vulkan");
  const Tensor x = Tensor::filled(*device, {1, 64, 256}, 1);
  const Weight w = weight(*device, {256, 256}, WeightKind::linear, {.hold = DType::f16});
  for (int op = 0; op < 40; ++op) ops::linear(x, w);
}

TEST(Vulkan, a_dry_run_needs_the_memory_of_the_run) {
  for (const char* name : {"vulkan", "vulkan_narrow"}) {
    DEVICE(name);
    const auto peak = [](Backend& on) {
      const MemoryWatch watch(on.ledger());
      Block(on).run();
      Block(on, {.hold = DType::bf16, .factors = DType::bf16}).run();
      const Tensor large = Tensor::empty(on, {20, 1 << 20});  // more than a usual block of memory
      on.finish();
      return watch.peak();
    };
    MemoryLedger ledger;
    const auto twin = device->dry_twin(ledger);
    EXPECT_EQ(peak(*twin), peak(*device)) << name;
  }
}

// What only products read that round it to bf16 is stored so, and nothing else: the result differs by that rounding alone.
TEST(Vulkan, bf16_factors_need_less_memory) {
  DEVICE("vulkan");
  struct Types : Observer {
    bool watches_dry_runs() const override { return true; }
    void on_op(const OpEvent& e) override { of[e.y.dtype()] += 1; }
    std::map<DType, int> of;
  };
  const auto planned_peak = [&](const WeightForm& form, const std::map<DType, int>& results, const auto& run) {
    MemoryLedger ledger;
    const auto twin = device->dry_twin(ledger);
    const Block b(*twin, form, 1024);
    Types types;
    const ObserverScope watching(types);
    run(b);
    EXPECT_EQ(types.of, results);
    return ledger.use().peak;
  };
  const auto conv = [](const Block& b) { ops::conv(b.x, b.conv, {}, ConvSpec::same(3), {}, {.groups = 4}); };
  const auto mlp = [](const Block& b) {
    Backend& on = b.x.backend();
    const Weight up = weight(on, {128, 32}, WeightKind::linear, b.linear.form),
                 down = weight(on, {32, 128}, WeightKind::linear, b.linear.form);
    const Tensor h = ops::layer_norm(b.x, {.stored = read_by(up)});
    ops::linear(ops::linear(h, up, {}, {.activation = Activation::gelu, .stored = read_by(down)}), down, {}, {.residual = b.x});
  };
  const auto whole = [](const Block& b) { b.run(); };
  const WeightForm wide{.hold = DType::bf16}, narrow{.hold = DType::bf16, .factors = DType::bf16};
  planned_peak(wide, {{DType::f32, 6}}, whole), planned_peak(narrow, {{DType::f32, 4}, {DType::bf16, 2}}, whole);
  const int64_t conv_f32 = planned_peak(wide, {{DType::f32, 1}}, conv), conv_bf16 = planned_peak(narrow, {{DType::f32, 1}}, conv),
                mlp_f32 = planned_peak(wide, {{DType::f32, 3}}, mlp),
                mlp_bf16 = planned_peak(narrow, {{DType::f32, 1}, {DType::bf16, 2}}, mlp);
  EXPECT_LE(conv_bf16, conv_f32 - (int64_t(60) << 20)) << conv_bf16 << " of " << conv_f32;  // the normalized x
  EXPECT_LE(5 * mlp_bf16, 4 * mlp_f32) << mlp_bf16 << " of " << mlp_f32;

  const auto reference = make_backend({.name = "reference", .threads = 2});
  const std::vector<float> y = Block(*device, narrow).run().to_vector();
  EXPECT_CLOSE(y, Block(*reference, narrow).run().to_vector(), 2e-3);
  EXPECT_GT(test::relative_error(y, Block(*reference, wide).run().to_vector()), 1e-3);
}

TEST(Vulkan, too_large_tensors_are_refused) {
  DEVICE("vulkan_narrow");
  try {
    Tensor::empty(*device, {33, 1 << 20});
    ADD_FAILURE() << "no error";
  } catch (const UnsupportedError& e) {
    EXPECT_NE(std::string(e.what()).find("has no blocks of 138412032 bytes, at most of 134217728"), std::string::npos) << e.what();
  }
}

// Fills memory of a card, by a stream of its own.
struct Filling {
  void fill(Stream& stream, double work = 1) {
    struct Parameters {
      uint64_t y;
      uint32_t count;
      float value;
      uint32_t y_type, padding;
    } const p{y.address, count, 3, 0, 0};
    stream.run(Shader::fill, {}, p, parts(count, pointwise_size), work);
  }
  ~Filling() { arena.give(y); }

  static constexpr uint32_t count = 10000;
  Card card{0, false};
  Pipelines pipelines{card};
  MemoryLedger ledger;
  Arena arena{&card, card.description().largest_block, ledger};
  const Span y = arena.take(count * 4);
};

// Work that by estimate takes longer than a driver's watchdog tolerates is submitted in parts, with the same result.
TEST(Vulkan, long_work_is_divided) {
  DEVICE("vulkan");
  Filling f;
  for (const auto& [work, submissions] : {std::pair(1.0, 1), std::pair(1e12, 5), std::pair(1e15, 157)}) {  // at most one for a workgroup
    Stream stream(&f.card, &f.pipelines);
    stream.zero(f.y, f.count * 4);
    f.fill(stream, work);
    std::vector<float> values(f.count);
    stream.download(f.y, values.data(), f.count * 4);
    EXPECT_EQ(values, std::vector<float>(f.count, 3)) << work;
    EXPECT_GE(stream.submissions(), uint64_t(submissions)) << work;
    EXPECT_LE(stream.submissions(), uint64_t(submissions) + 2) << work;  // and those of filling with zeros and reading
  }
}

// A card that has nothing to do begins before anyone waits.
TEST(Vulkan, many_dispatches_begin_early) {
  DEVICE("vulkan");
  Filling f;
  Stream stream(&f.card, &f.pipelines);
  for (int i = 0; i < 31; ++i) f.fill(stream);
  EXPECT_EQ(stream.submissions(), 0u);
  f.fill(stream);
  EXPECT_EQ(stream.submissions(), 1u);
}

// Compiled shaders are kept, and a damaged file is as good as none.
TEST(Vulkan, compiled_shaders_are_kept_and_checked) {
  DEVICE("vulkan");
  const test::TemporaryFolder folder;
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before ? before : "";
  ::setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
  const auto compile = [] {
    const Card card(0, false);
    Pipelines pipelines(card);
    pipelines.get(Shader::fill, {}, {});
  };
  compile();
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder.path() / "hearth")) files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1u);
  for (const std::uintmax_t size : {fs::file_size(files[0]) - 1, std::uintmax_t(20), std::uintmax_t(0)}) {
    fs::resize_file(files[0], size);
    compile();
    EXPECT_GT(fs::file_size(files[0]), size);
  }
  {
    std::fstream file(files[0], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('x');
  }
  compile();
  before ? ::setenv("XDG_CACHE_HOME", kept.c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
}

TEST(Vulkan, without_a_driver_says_what_to_install) {
  DEVICE("vulkan");
  device.reset();
  for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) ::setenv(name, "/nonexistent.json", 1);
  std::string why;
  EXPECT_TRUE(vulkan_cards(&why).empty());
  EXPECT_EQ(why, "no driver offers a device; install the driver of the graphics card");
  EXPECT_THROW(make_vulkan_backend(0, "", 1), UnsupportedError);
  for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) ::unsetenv(name);
}

}  // namespace
}  // namespace hearth::vulkan
