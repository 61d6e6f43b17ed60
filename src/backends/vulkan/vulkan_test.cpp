// What the ops' tests do not see: memory, long work, many runs, compiled shaders on disk, the layers that validate.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/vulkan/vulkan_class.h"
#include "core/memory.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "support/backend_test.h"
#include "support/files.h"

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

Weight weight(Backend& device, const Shape& shape, WeightKind kind) {
  Weight w{.name = "w", .shape = shape, .form = {.hold = DType::f16}, .backend = &device, .kind = kind};
  w.prepared = device.prepare(Tensor::from(device.host(), shape, numbers(shape.numel()), DType::f16), kind, w.form);
  return w;
}

// Ops that need memory of their own.
struct Block {
  explicit Block(Backend& device)
      : x(Tensor::from(device, {1, 8, 8, 32}, numbers(8 * 8 * 32))),
        conv(weight(device, {32, 32, 3, 3}, WeightKind::conv)),
        linear(weight(device, {32, 32}, WeightKind::linear)) {}

  Tensor run() const {
    Tensor y = ops::conv(x, conv, {}, ConvSpec::same(3), {}, {.groups = 4, .activation = Activation::silu});
    y = ops::linear(y.view({1, 64, 32}), linear, {}, {}, {.groups = 2});
    const Tensor heads = y.view({1, 64, 2, 16});
    y = ops::attention(heads, heads, heads, {.scale = 0.25f}).view({1, 64, 32});
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

TEST(Vulkan, a_dry_run_needs_the_memory_of_the_run) {
  for (const char* name : {"vulkan", "vulkan_narrow"}) {
    DEVICE(name);
    const auto peak = [](Backend& on) {
      const MemoryWatch watch(on.ledger());
      const Block b(on);
      b.run();
      const Tensor large = Tensor::empty(on, {20, 1 << 20});  // more than a usual block of memory
      on.finish();
      return watch.peak();
    };
    MemoryLedger ledger;
    const auto twin = device->dry_twin(ledger);
    EXPECT_EQ(peak(*twin), peak(*device)) << name;
  }
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

// A product whose work by estimate takes longer than a driver's watchdog tolerates is submitted in parts, with the same bits.
TEST(Vulkan, long_work_is_divided) {
  DEVICE("vulkan");
  const Card card(0, false);
  Pipelines pipelines(card);
  MemoryLedger ledger;
  Arena arena(&card, card.description().largest_block, ledger);
  constexpr uint32_t count = 10000;
  const Span y = arena.take(count * 4);
  struct Parameters {
    uint64_t y;
    uint32_t count;
    float value;
    uint32_t y_type, padding;
  } const p{y.address, count, 3, 0, 0};
  for (const auto& [work, submissions] : {std::pair(1.0, 1), std::pair(1e12, 5), std::pair(1e15, 157)}) {  // at most one for a workgroup
    Stream stream(&card, &pipelines);
    stream.zero(y, count * 4);
    stream.run(Shader::fill, {}, p, parts(count, pointwise_size), work);
    std::vector<float> values(count);
    stream.download(y, values.data(), count * 4);
    EXPECT_EQ(values, std::vector<float>(count, 3)) << work;
    EXPECT_GE(stream.submissions(), uint64_t(submissions)) << work;
    EXPECT_LE(stream.submissions(), uint64_t(submissions) + 2) << work;  // and those of filling with zeros and reading
  }
  arena.give(y);
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
