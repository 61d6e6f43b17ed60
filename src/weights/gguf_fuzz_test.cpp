// Deterministic mutations of small GGUF files: whatever the bytes, the reader answers with data or with one of our errors, and takes
// no more memory than the file warrants. HEARTH_FUZZ_ROUNDS multiplies its length.
#include <cstdlib>
#include <random>

#include "core/file.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"
#include "weights/gguf.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // Mostly in the first `header` bytes.
  std::string operator()(std::string bytes, size_t header) {
    for (size_t n = 1 + below(3); n > 0; --n) mutate(bytes, below(10) < 9 ? std::min(header, bytes.size()) : bytes.size());
    return bytes;
  }
  size_t below(size_t n) { return n == 0 ? 0 : size_t(random_() % n); }

 private:
  void mutate(std::string& bytes, size_t within) {
    const size_t at = below(within);
    switch (below(7)) {
      case 0: put(bytes, at, uint64_t(1) << below(64), 8); break;
      case 1: put(bytes, at, ~uint64_t(0) >> below(64), 8); break;
      case 2: put(bytes, at, below(48), 4); break;  // types, ranks, small counts
      case 3: bytes.resize(at); break;
      case 4: bytes.insert(at, bytes.substr(below(bytes.size()), below(64))); break;
      case 5: bytes.erase(at, 1 + below(16)); break;
      case 6:
        if (!bytes.empty()) bytes[at] = char(bytes[at] ^ (1 << below(8)));
        break;
    }
  }
  static void put(std::string& bytes, size_t at, uint64_t value, size_t size) {
    for (size_t i = 0; i < size && at + i < bytes.size(); ++i) bytes[at + i] = char(value >> (8 * i));
  }
  std::mt19937_64 random_;
};

TEST(gguf_fuzz, files) {
  const char* factor = std::getenv("HEARTH_FUZZ_ROUNDS");
  const auto device = test::make_test_backend("reference");
  const test::TemporaryFolder folder;
  std::vector<std::pair<std::string, size_t>> seeds;
  for (const char* name : {"every.gguf", "aligned.gguf", "version2.gguf", "split-00002-of-00003.gguf"}) {
    seeds.emplace_back(read_file(test::folder_of(__FILE__) / "golden" / "gguf" / name), 0);
    seeds.back().second = parse_gguf_header(seeds.back().first, name).data_start;
  }
  Mutator mutate(7);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20000 * (factor ? std::max(1, std::atoi(factor)) : 1); ++i) {
    const auto& [seed, header] = seeds[mutate.below(seeds.size())];
    const std::string bytes = mutate(seed, header);
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
