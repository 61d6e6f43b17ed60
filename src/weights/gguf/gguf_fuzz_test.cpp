// Deterministic mutations of small GGUF files: for any bytes the reader returns data or throws one of our errors, and needs memory in
// proportion to the file. HEARTH_FUZZ_ROUNDS multiplies the number of rounds.
#include <algorithm>

#include "core/files/file.h"
#include "support/backend_test.h"
#include "support/damage.h"
#include "support/files.h"
#include "support/golden.h"
#include "weights/gguf/gguf.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// Mostly in the first `header` bytes.
std::string mutated(std::string bytes, size_t header, test::Damage& damage) {
  for (size_t n = 1 + damage.below(3); n > 0; --n) {
    const size_t at = damage.below(damage.below(10) < 9 ? std::min(header, bytes.size()) : bytes.size());
    if (damage.below(6) == 0) test::Damage::put(bytes, at, damage.below(48), 4);  // types, ranks, small counts
    else damage.apply(bytes, at);
  }
  return bytes;
}

TEST(GgufFuzz, files) {
  const auto device = test::make_test_backend("reference");
  const test::TemporaryFolder folder;
  std::vector<std::pair<std::string, size_t>> seeds;
  for (const char* name : {"every.gguf", "aligned.gguf", "version2.gguf", "split-00002-of-00003.gguf"}) {
    seeds.emplace_back(read_file(test::folder_of(__FILE__) / "golden" / name), 0);
    seeds.back().second = parse_gguf_header(seeds.back().first, name).data_start;
  }
  test::Damage damage(7);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20000 * test::fuzz_rounds(); ++i) {
    const auto& [seed, header] = seeds[damage.below(seeds.size())];
    const std::string bytes = mutated(seed, header, damage);
    try {
      const GgufHeader parsed = parse_gguf_header(bytes, "f");
      ++accepted;
      for (const auto& [key, value] : parsed.metadata.values()) {
        if (value.type == GgufType::text) parsed.metadata.text(key);
        if (value.type == GgufType::array && value.element == GgufType::text) { EXPECT_EQ(parsed.metadata.texts(key).size(), value.count); }
        if (value.type == GgufType::array && value.element == GgufType::f32) {
          EXPECT_EQ(parsed.metadata.numbers(key).size(), value.count);
        }
      }
      for (const auto& [name, entry] : parsed.tensors) {
        EXPECT_LE(entry.begin, entry.end);
        EXPECT_LE(entry.end, bytes.size());
        if (entry.info.unreadable.empty()) { EXPECT_EQ(bytes_of(entry.info.dtype, entry.info.shape.numel()), entry.end - entry.begin); }
      }
      if (i % 20 != 0) continue;
      write_file_unflushed(folder / "f.gguf", std::vector<std::string_view>{bytes});
      const auto file = GgufFile::open(folder / "f.gguf");
      for (const auto& [name, info] : file->list())
        if (info.unreadable.empty()) {
          const Tensor x = file->read(name, info.shape, *device);
          EXPECT_EQ(x.to_vector().size(), size_t(info.shape.numel()));
          count_non_finite(x);
        }
    } catch (const Error& e) {
      ++refused;
      EXPECT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
    } catch (const std::exception& e) { ADD_FAILURE() << "not one of our errors: " << e.what(); }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace hearth
