// Deterministic mutations of small PyTorch checkpoints: for any bytes the reader returns data or throws one of our errors, with time and
// memory in proportion to the file. HEARTH_FUZZ_ROUNDS multiplies the number of rounds.
#include "core/files/file.h"
#include "support/backend_test.h"
#include "support/damage.h"
#include "support/files.h"
#include "support/golden.h"
#include "support/torch_writer.h"
#include "weights/torch/torch_file.h"
#include "weights/zip/zip_archive.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// Damage that is typical of pickles.
class Mutator {
 public:
  explicit Mutator(uint64_t seed) : damage_(seed) {}

  std::string operator()(std::string bytes) {
    for (size_t n = 1 + below(3); n > 0; --n) mutate(bytes);
    return bytes;
  }
  size_t below(size_t n) { return damage_.below(n); }

 private:
  void mutate(std::string& bytes) {
    static constexpr std::string_view codes =
        "(.012FIJKLMNPQRSTUVXabcd}eghijl]opqrst)uG\x80\x81\x85\x86\x87\x88\x8a\x8b\x8c\x8e\x8f\x90\x91\x92\x93\x94\x95";
    const size_t at = below(bytes.size());
    switch (below(8)) {
      case 0: test::Damage::put(bytes, at, below(300), 4); break;
      case 1: test::Damage::put(bytes, at, uint8_t(codes[below(codes.size())]), 1); break;
      case 2: bytes.insert(at, 1, codes[below(codes.size())]); break;
      default: damage_.apply(bytes, at);
    }
  }
  test::Damage damage_;
};

// Reads everything that the file declares, and counts whether it was valid.
class Reader {
 public:
  void operator()(const std::string& bytes, bool from_disk) {
    try {
      const TorchContents contents = parse_torch_file(bytes, "f");
      ++accepted;
      for (const auto& [name, entry] : contents.tensors) {
        EXPECT_LE(entry.begin, entry.end);
        EXPECT_LE(entry.end, bytes.size());
        if (entry.info.unreadable.empty()) { EXPECT_LE(bytes_of(entry.info.dtype, entry.info.shape.numel()), bytes.size()); }
      }
      if (!from_disk) return;
      write_file_unflushed(folder_ / "f.pt", std::vector<std::string_view>{bytes});
      const auto file = TorchFile::open(folder_ / "f.pt");
      for (const auto& [name, info] : file->list()) {
        if (!info.unreadable.empty()) continue;
        const Tensor x = file->read(name, info.shape, *device_);
        EXPECT_EQ(x.to_vector().size(), size_t(info.shape.numel()));
        file->release(name);
      }
    } catch (const Error& e) {
      ++refused;
      EXPECT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
      EXPECT_LT(std::string_view(e.what()).size(), 2000u);
    } catch (const std::exception& e) { ADD_FAILURE() << "not one of our errors: " << e.what(); }
  }
  int accepted = 0, refused = 0;

 private:
  std::unique_ptr<Backend> device_ = test::make_test_backend("reference");
  test::TemporaryFolder folder_;
};

TEST(TorchFuzz, files) {
  std::vector<std::string> seeds;
  for (const char* name : {"zip_2.pt", "zip_4.pt", "legacy_1.pt", "legacy_4.pt", "raw_4.pt", "state_dict.bin", "lightning.ckpt",
                           "nested.pt", "unreadable.pt", "hostile_0.bin"})
    seeds.push_back(read_file(test::folder_of(__FILE__) / "golden" / name));
  Mutator mutate(11);
  Reader read;
  for (int i = 0; i < 20000 * test::fuzz_rounds(); ++i) read(mutate(seeds[mutate.below(seeds.size())]), i % 20 == 0);
  EXPECT_GT(read.accepted, 1000);
  EXPECT_GT(read.refused, 1000);
}

// The same for the pickle alone, in a valid archive.
TEST(TorchFuzz, pickles) {
  struct Seed {
    std::string pickle;
    test::NamedBytes storages;
  };
  std::vector<Seed> seeds{{test::pickled({{.name = "a", .elements = 6, .sizes = {2, 3}, .strides = {3, 1}},
                                          {.name = "b", .elements = 6, .offset = 2, .sizes = {2}, .strides = {2}}}),
                           {{"0", std::string(24, 1)}}}};
  for (const char* name : {"zip_2.pt", "zip_5.pt", "lightning.ckpt", "unreadable.pt"}) {
    const std::string file = read_file(test::folder_of(__FILE__) / "golden" / name);
    Seed& seed = seeds.emplace_back();
    const ZipArchive archive = ZipArchive::parse(file, name);
    for (const auto& [path, member] : archive.members()) {
      const std::string bytes = file.substr(member.begin, member.end - member.begin);
      if (path.ends_with("/data.pkl")) seed.pickle = bytes;
      if (const size_t at = path.find("/data/"); at != path.npos) seed.storages.emplace_back(path.substr(at + 6), bytes);
    }
  }
  Mutator mutate(12);
  Reader read;
  for (int i = 0; i < 20000 * test::fuzz_rounds(); ++i) {
    const auto& [seed, storages] = seeds[mutate.below(seeds.size())];
    const std::string pickle = mutate(seed);
    read(i % 4 ? test::torch_zip(pickle, storages) : pickle, i % 20 == 1);
  }
  EXPECT_GT(read.accepted, 500);
  EXPECT_GT(read.refused, 1000);
}

}  // namespace
}  // namespace hearth
