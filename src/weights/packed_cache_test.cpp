#include "weights/packed_cache.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "core/files/file.h"
#include "core/files/sha256.h"
#include "core/threads.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "weights/safetensors/safetensors.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::message_of;

// Two weights of a component on disk, and the results of loading them through a cache.
class PackedCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<float> a(20 * 7), b(6 * 5 * 9);
    for (size_t i = 0; i < a.size(); ++i) a[i] = float(i % 13) - 6;
    for (size_t i = 0; i < b.size(); ++i) b[i] = float(i % 11) / 4;
    write_safetensors(file, {{"a", Tensor::from(*device, {20, 7}, a)}, {"b", Tensor::from(*device, {6, 5, 3, 3}, b)}});
  }

  struct Loaded {
    Weight a, b;
    Weights::Report report;
    std::vector<std::string> warnings;
  };
  Loaded load(const WeightTypes& types = {}, const char* path = "cpu_avx2") {
    kept.push_back(test::make_test_backend(path));
    Backend& backend = *kept.back();
    Loaded l;
    const std::vector<fs::path> files{file};
    const std::shared_ptr<PackedCache> cache =
        open_cache(folder, files, types, backend, [&](const std::string& line) { l.warnings.push_back(line); });
    Weights weights(SafetensorsFile::open(file), backend, {.types = types, .progress = {}, .cache = cache, .ignore = {}});
    l.a = weights.weight("a", {20, 7}, WeightKind::linear);
    l.b = weights.weight("b", {6, 5, 3, 3}, WeightKind::conv);
    weights.finish();
    cache->finish();
    l.report = weights.report();
    return l;
  }
  std::vector<fs::path> packed() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".packed") files.push_back(entry.path());
    return files;
  }
  static std::string bytes_of(const Weight& w) { return {reinterpret_cast<const char*>(w.prepared->storage().get()), w.prepared->bytes}; }
  void expect_same(const Loaded& x, const Loaded& y) {
    EXPECT_EQ(bytes_of(x.a), bytes_of(y.a));
    EXPECT_EQ(bytes_of(x.b), bytes_of(y.b));
    EXPECT_EQ(x.a.form.hold, y.a.form.hold);
    EXPECT_EQ(x.report.tensors, y.report.tensors);
    EXPECT_EQ(x.report.parameters, y.report.parameters);
    EXPECT_EQ(x.report.bytes_held, y.report.bytes_held);
    EXPECT_EQ(x.report.kept_wider, y.report.kept_wider);
  }

  test::TemporaryFolder root;
  fs::path folder = root / "made/by/us", file = root / "model.safetensors";
  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  std::vector<std::unique_ptr<Backend>> kept;
};

TEST_F(PackedCacheTest, the_second_load_maps_the_packed_weights) {
  if (!test::make_test_backend("cpu_avx2")) GTEST_SKIP() << "this processor lacks AVX2";
  const Loaded first = load();
  ASSERT_EQ(packed().size(), 1u);
  const auto written = fs::last_write_time(packed()[0]);
  const Loaded second = load();
  expect_same(second, first);
  EXPECT_TRUE(second.warnings.empty());
  EXPECT_EQ(fs::last_write_time(packed()[0]), written);
}

TEST_F(PackedCacheTest, a_gated_linear_unit_is_found_again_as_one) {
  if (!test::make_test_backend("cpu_avx2")) GTEST_SKIP() << "this processor lacks AVX2";
  const auto backend = test::make_test_backend("cpu_avx2");
  const std::vector<fs::path> files{file};
  const auto load_as = [&](WeightKind kind) {
    const std::shared_ptr<PackedCache> cache =
        open_cache(folder, files, {}, *backend, [](const std::string& line) { ADD_FAILURE() << line; });
    Weights weights(SafetensorsFile::open(file), *backend, {.types = {}, .progress = {}, .cache = cache, .ignore = {"b"}});
    const Weight a = weights.weight("a", {20, 7}, kind);
    cache->finish();
    EXPECT_EQ(a.kind, kind);
    return std::pair(bytes_of(a), cache->find("a", {20, 7}, kind, backend->threads()).has_value());
  };
  const auto packed_now = load_as(WeightKind::glu), found = load_as(WeightKind::glu);
  EXPECT_EQ(found.first, packed_now.first);
  EXPECT_TRUE(found.second);
  EXPECT_NE(load_as(WeightKind::linear).first, found.first);  // a cached weight of another kind is ignored
}

TEST_F(PackedCacheTest, each_choice_and_path_has_its_own_file) {
  if (!test::make_test_backend("cpu_avx2")) GTEST_SKIP() << "this processor lacks AVX2";
  const Loaded f32 = load(), f16 = load({.hold = DType::f16});
  EXPECT_EQ(packed().size(), 2u);
  EXPECT_EQ(f16.a.form.hold, DType::f16);
  EXPECT_NE(f16.a.prepared->bytes, f32.a.prepared->bytes);
  expect_same(load({.hold = DType::f16}), f16);
  if (test::make_test_backend("cpu_avx512")) {
    load({}, "cpu_avx512");
    EXPECT_EQ(packed().size(), 3u);
  }
  load({.hold = DType::bf16, .factors = DType::bf16}, "cpu_emulated");
  const size_t before = packed().size();
  const Loaded tiles = load({.hold = DType::bf16, .factors = DType::bf16}, "cpu_emulated");
  EXPECT_EQ(tiles.a.form.factors, DType::bf16);
  EXPECT_EQ(packed().size(), before);
}

TEST_F(PackedCacheTest, other_contents_under_the_same_name_are_detected) {
  if (!test::make_test_backend("cpu_avx2")) GTEST_SKIP() << "this processor lacks AVX2";
  const Loaded first = load();
  write_safetensors(file, {{"a", Tensor::zeros(*device, {20, 7})}, {"b", Tensor::zeros(*device, {6, 5, 3, 3})}});
  EXPECT_EQ(bytes_of(load().a), std::string(first.a.prepared->bytes, '\0'));
  EXPECT_EQ(packed().size(), 2u);
}

TEST_F(PackedCacheTest, any_damage_is_found_and_repaired) {
  if (!test::make_test_backend("cpu_avx2")) GTEST_SKIP() << "this processor lacks AVX2";
  const Loaded first = load();
  const std::string whole = read_file(packed()[0]);
  const auto with = [&](const std::string& bytes) {
    write_file(packed()[0], bytes);
    const Loaded l = load();
    expect_same(l, first);
    const Loaded repaired = load();
    expect_same(repaired, first);
    EXPECT_TRUE(repaired.warnings.empty());
    return l.warnings;
  };
  for (size_t at = 0; at < whole.size(); at += at < 900 ? 13 : 131) {
    if (whole[at] == ' ' || whole[at] == '\0') continue;  // padding may be anything
    std::string bytes = whole;
    bytes[at] = char(bytes[at] ^ 0x10);
    EXPECT_EQ(with(bytes).size(), 1u) << "byte " << at;
  }
  for (const size_t size : {size_t(0), size_t(7), size_t(24), size_t(100), whole.size() / 2, whole.size() - 40})
    EXPECT_EQ(with(whole.substr(0, size)).size(), 1u) << size << " bytes";
  EXPECT_NE(with("not a cache at all, but a text that somebody has put here")[0].find("it is not a file of packed weights"),
            std::string::npos);
}

TEST_F(PackedCacheTest, a_foreign_key_is_refused) {
  if (!test::make_test_backend("cpu_avx2")) GTEST_SKIP() << "this processor lacks AVX2";
  load();
  const fs::path f32 = packed()[0];
  load({.hold = DType::f16});
  const std::vector<fs::path> both = packed();
  const fs::path f16 = both[0] == f32 ? both[1] : both[0];
  fs::copy_file(f16, f32, fs::copy_options::overwrite_existing);
  const Loaded l = load();
  EXPECT_EQ(l.a.form.hold, DType::f32);
  ASSERT_EQ(l.warnings.size(), 1u);
  EXPECT_NE(l.warnings[0].find("belongs to other weights"), std::string::npos);
}

TEST_F(PackedCacheTest, several_writers_leave_one_whole_file) {
  if (!test::make_test_backend("cpu_avx2")) GTEST_SKIP() << "this processor lacks AVX2";
  fs::create_directories(folder);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const auto backend = test::make_test_backend("cpu_avx2");
      for (int round = 0; round < 10; ++round) {
        PackedCache cache(folder, "key", [](const std::string& line) { ADD_FAILURE() << line; });
        auto found = cache.find("w", {64, 64}, WeightKind::linear, backend->threads());
        EXPECT_TRUE(!found || std::count(found->data.get(), found->data.get() + found->bytes, std::byte(7)) == 5000);
        const std::shared_ptr<std::byte> data(new std::byte[5000], std::default_delete<std::byte[]>());
        std::fill_n(data.get(), 5000, std::byte(7));
        cache.add("w", {.shape = {64, 64}, .kind = WeightKind::linear, .form = {}, .data = data, .bytes = 5000}, backend->threads());
        cache.finish();
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(PackedCacheTest, hashes_are_remembered_until_the_file_changes) {
  fs::create_directories(folder);
  const std::vector<fs::path> files{file};
  const std::string hash = remembered_hash(folder, files);
  EXPECT_EQ(hash, sha256_of_files(files));
  EXPECT_EQ(remembered_hash(folder, files), hash);
  write_file(file, "something else");
  EXPECT_EQ(remembered_hash(folder, files), sha256_of_files(files));
  fs::remove(file);
  EXPECT_THROW(remembered_hash(folder, files), IoError);
}

TEST_F(PackedCacheTest, places_that_cannot_be_used_are_named) {
  write_file(root / "file", "x");
  EXPECT_EQ(message_of<IoError>([&] { require_cache_folder(root / "file"); }, root.path()),
            "weight cache: FOLDER/file is not a folder and cannot be created: Not a directory");
  EXPECT_NE(message_of<IoError>([&] { require_cache_folder(root / "file/below"); }, root.path())
                .find("weight cache: FOLDER/file/below is not a folder"),
            std::string::npos);
  EXPECT_THROW(require_cache_folder("/proc/nothing"), IoError);
  const std::vector<fs::path> files{file};
  EXPECT_THROW(open_cache(folder, files, {}, *device, [](const std::string&) {}), UnsupportedError);
  EXPECT_EQ(open_cache({}, files, {}, *device, [](const std::string&) {}), nullptr);
}

}  // namespace
}  // namespace hearth
