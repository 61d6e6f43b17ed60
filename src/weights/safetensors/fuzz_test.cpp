// Deterministic mutations of the corpus: for any bytes a reader returns data or throws one of our errors. Under the sanitizer presets the
// same test finds out-of-bounds reads. HEARTH_FUZZ_ROUNDS multiplies the number of rounds.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/files/file.h"
#include "core/files/json.h"
#include "support/backend_test.h"
#include "support/damage.h"
#include "support/files.h"
#include "support/golden.h"
#include "weights/checkpoint.h"
#include "weights/inspection/inspection.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// Damage that is typical of JSON headers.
class Mutator {
 public:
  explicit Mutator(uint64_t seed) : damage_(seed) {}

  std::string operator()(std::string bytes) {
    for (size_t n = 1 + below(4); n > 0; --n) mutate(bytes);
    return bytes;
  }
  size_t below(size_t n) { return damage_.below(n); }

 private:
  void mutate(std::string& bytes) {
    const size_t at = below(bytes.size());
    const std::string& word = words_[below(words_.size())];
    switch (below(8)) {
      case 0: bytes.insert(at, word); break;
      case 1: bytes.replace(at, std::min(word.size(), bytes.size() - at), word); break;
      case 2: bytes.append(below(64), char(below(256))); break;
      case 3: change_number(bytes, at); break;
      default: damage_.apply(bytes, at);
    }
  }
  // Headers and indices are full of numbers; a small change to one is the most likely to go undetected.
  void change_number(std::string& bytes, size_t at) {
    const size_t begin = bytes.find_first_of("0123456789", at);
    if (begin == bytes.npos) return;
    const size_t end = std::min(bytes.find_first_not_of("0123456789", begin), bytes.size());
    const uint64_t value = std::strtoull(bytes.substr(begin, end - begin).c_str(), nullptr, 10);
    static constexpr int64_t steps[] = {1, -1, 4, -4, 1 << 16, int64_t(1) << 40, INT64_MAX};
    bytes.replace(begin, end - begin, std::to_string(value + uint64_t(steps[below(std::size(steps))])));
  }

  static std::vector<std::string> split(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
  }

  test::Damage damage_;
  const std::vector<std::string> words_ = split(
      "{ } [ ] , : \" -1 0 1e99 18446744073709551615 9223372036854775808 null true NaN Infinity \\u0000 \\ud800 \xff data_offsets shape "
      "dtype __metadata__ weight_map _class_name ../ F4 BOOL F64");
};

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& file, std::string_view bytes) { std::ofstream(file, std::ios::binary) << bytes; }

std::vector<std::string> corpus() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(test::folder_of(__FILE__) / "golden" / "corpus")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const fs::path& file : files) seeds.push_back(read(file));
  return seeds;
}

TEST(Fuzz, safetensors_headers) {
  std::vector<std::pair<std::string, uint64_t>> seeds;  // header and the data's size
  for (const std::string& file : corpus()) {
    uint64_t length = 0;
    if (file.size() < 8) continue;
    std::memcpy(&length, file.data(), 8);
    if (length <= file.size() - 8) seeds.emplace_back(file.substr(8, length), file.size() - 8 - length);
  }
  Mutator mutate(1);
  test::Outcome outcome;
  for (int i = 0; i < 30000 * test::fuzz_rounds(); ++i) {
    const auto& [header, data_bytes] = seeds[mutate.below(seeds.size())];
    outcome.attempt([&, data = data_bytes, text = mutate(header)] {
      for (const auto& [name, entry] : parse_safetensors_header(text, data, "f").tensors) {
        EXPECT_LE(entry.begin, entry.end);
        EXPECT_LE(entry.end, data);
        if (!entry.info.unreadable.empty()) continue;
        EXPECT_EQ(uint64_t(entry.info.shape.numel()) * size_of(entry.info.dtype), entry.end - entry.begin);
      }
    });
  }
  EXPECT_GT(outcome.accepted, 100);
  EXPECT_GT(outcome.refused, 10000);
}

TEST(Fuzz, safetensors_files) {
  const auto device = test::make_test_backend("reference");
  const test::TemporaryFolder folder;
  const std::vector<std::string> seeds = corpus();
  Mutator mutate(5);
  test::Outcome outcome;
  for (int i = 0; i < 500 * test::fuzz_rounds(); ++i) {
    write(folder / "f.safetensors", mutate(seeds[mutate.below(seeds.size())]));
    outcome.attempt([&] {
      const auto opened = SafetensorsFile::open(folder / "f.safetensors");
      for (const auto& [name, info] : opened->list()) {
        if (!info.unreadable.empty()) continue;
        const Tensor x = opened->read(name, info.shape, *device);
        volatile std::byte sum{};  // reads every byte of the tensor
        for (size_t b = 0; b < x.bytes(); ++b) sum = sum ^ x.raw()[b];
        opened->release(name);
      }
    });
  }
  EXPECT_GT(outcome.accepted, 0);
  EXPECT_GT(outcome.refused, 100);
}

TEST(Fuzz, shard_index) {
  const auto device = test::make_test_backend("reference");
  const test::TemporaryFolder folder;
  for (const char* shard : {"1", "2"})
    write_safetensors(folder / fmt::format("model-0000{}-of-00002.safetensors", shard),
                      {{fmt::format("t{}", shard), Tensor::zeros(*device, {2})}});
  const std::string seed =
      R"({"metadata": {"total_size": 16}, "weight_map": {"t1": "model-00001-of-00002.safetensors", "t2": "model-00002-of-00002.safetensors"}})";
  Mutator mutate(2);
  test::Outcome outcome;
  for (int i = 0; i < 250 * test::fuzz_rounds(); ++i) {
    write(folder / "model.safetensors.index.json", mutate(seed));
    outcome.attempt([&] { open_weight_files(choose_weight_files(folder.path(), ""))->list(); });
  }
  EXPECT_GT(outcome.accepted, 0);
  EXPECT_GT(outcome.refused, 100);
}

TEST(Fuzz, model_index_and_configs) {
  const test::TemporaryFolder folder;
  const fs::path demo = test::folder_of(__FILE__) / ".." / ".." / ".." / "assets" / "demo-model";
  const std::string index = read(demo / "model_index.json"), config = read(demo / "unet" / "config.json");
  ASSERT_FALSE(index.empty());
  fs::create_directories(folder / "unet");
  write(folder / "unet" / "diffusion_pytorch_model.safetensors", read(demo / "text_encoder" / "model.safetensors"));
  Mutator mutate(3);
  test::Outcome outcome;
  for (int i = 0; i < 150 * test::fuzz_rounds(); ++i) {
    write(folder / "model_index.json", i % 2 ? mutate(index) : index);
    write(folder / "unet" / "config.json", i % 2 ? config : mutate(config));
    outcome.attempt([&] {
      const InspectedCheckpoint found = inspect_checkpoint(folder.path(), {});
      to_text(found);
    });
    outcome.attempt([&] { Checkpoint::open(folder.path(), {}).config("unet").integers("block_out_channels"); });
  }
  EXPECT_GT(outcome.accepted, 50);
  EXPECT_GT(outcome.refused, 50);
}

TEST(Fuzz, json) {
  const std::string seed = R"({"a": [1, -2.5e3, true, null, "téxt \"\\u00e9"], "b": {"c": Infinity, "d": [[], {}]}, "e": NaN})";
  Mutator mutate(4);
  test::Outcome outcome;
  for (int i = 0; i < 20000 * test::fuzz_rounds(); ++i) outcome.attempt([&] { Config::parse(mutate(seed), "f").keys(); });
  EXPECT_GT(outcome.accepted, 100);
  EXPECT_GT(outcome.refused, 1000);
}

}  // namespace
}  // namespace hearth
