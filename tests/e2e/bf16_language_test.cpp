// A language model whose products have bf16 factors, as with `--precision bf16` on a CPU that supports them.
#include <gtest/gtest.h>

#include <cmath>

#include "api/precision.h"
#include "hearth/quantize.h"
#include "language_copy.h"
#include "models/language_loading.h"
#include "models/language_registry.h"
#include "support/backend_test.h"

namespace hearth::test {
namespace {

using Logits = std::vector<std::vector<float>>;

// The logits after each token of a text, fed in chunks of the given sizes.
Logits logits_of(const std::filesystem::path& path, Backend& device, const WeightTypes& types, const std::vector<int32_t>& text,
                 const std::vector<size_t>& pieces) {
  const LanguageCheckpoint checkpoint = models::open_language_checkpoint(path);
  const auto [model, report] = models::load_language_model(models::find_family(checkpoint).family, checkpoint, device, {.types = types});
  EXPECT_EQ(report.factors, name_of(types.factors));
  const auto state = model->start(int64_t(text.size()), DType::f32);
  Logits all;
  size_t at = 0;
  for (const size_t count : pieces) {
    model->feed(*state, std::span(text).subspan(at, count), 0,
                [&](int64_t, std::span<const float> values) { all.emplace_back(values.begin(), values.end()); });
    at += count;
  }
  return all;
}

double distance(const Logits& x, const Logits& y) {  // relative L2
  double difference = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < x[i].size(); ++j) {
      difference += std::pow(double(x[i][j]) - y[i][j], 2);
      size += std::pow(double(y[i][j]), 2);
    }
  return std::sqrt(difference / size);
}

std::vector<int32_t> some_text() {
  std::vector<int32_t> text;
  for (int32_t i = 0; i < 100; ++i) text.push_back((i * 37 + 11) % 500);
  return text;
}

// `right` is the output of `exact` without bf16, in one chunk. Observed on emulated tiles: 3.2e-3, and 4.9e-3 with blocks.
void expect_near(const std::filesystem::path& path, const WeightTypes& exact) {
  const auto f32 = make_test_backend("cpu_avx2");
  if (!f32) GTEST_SKIP() << "this CPU lacks AVX2";
  const std::vector<int32_t> text = some_text();
  const WeightTypes bf16{.hold = DType::bf16, .factors = DType::bf16, .in_place = true};
  const Logits right = logits_of(path, *f32, exact, text, {100});
  for (const char* kernels : {"cpu_emulated", "cpu_avx512bf16", "cpu_amx"}) {
    const auto device = make_test_backend(kernels);
    if (!device) continue;
    const Logits whole = logits_of(path, *device, bf16, text, {100}), parts = logits_of(path, *device, bf16, text, {40, 1, 3, 56});
    EXPECT_LT(distance(whole, right), 1e-2) << kernels;
    EXPECT_GT(distance(whole, right), 1e-4) << kernels << ": nothing was rounded";
    EXPECT_LT(distance(parts, right), 1e-2) << kernels;
  }
}

TEST(Bf16Language, is_near_f32) { expect_near(demo_language_model(), {.hold = DType::bf16, .in_place = true}); }

TEST(Bf16Language, of_blocks_is_near_f32) {
  const TemporaryFolder folder;
  for (const char* type : {"q8_0", "q4_0", "q4_k", "q6_k"}) {
    SCOPED_TRACE(type);
    const std::filesystem::path file = folder.path() / (std::string(type) + ".gguf");
    quantize({.model = demo_language_model(), .output = file, .type = type, .pure = true});
    expect_near(file, {.in_place = true});
  }
}

// `--precision bf16` with block types: on a CPU without bf16 products it is the same as `auto`.
TEST(Bf16Language, of_blocks_without_bf16_products) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "q4_0.gguf";
  quantize({.model = demo_language_model(), .output = file, .type = "q4_0", .pure = true});
  const auto device = make_test_backend("cpu_avx2");
  if (!device) GTEST_SKIP() << "this CPU lacks AVX2";
  const WeightTypes types = api::held_types(Precision::bf16, *device);
  EXPECT_EQ(types.factors, DType::i16);
  EXPECT_EQ(logits_of(file, *device, types, some_text(), {100}),
            logits_of(file, *device, api::held_types(Precision::automatic, *device), some_text(), {100}));
}

}  // namespace
}  // namespace hearth::test
