#include "weights/gguf/imatrix.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/error.h"
#include "core/files/file.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::message_of;

class ImatrixTest : public testing::Test {
 protected:
  static fs::path golden(const std::string& name) { return test::folder_of(__FILE__) / "golden" / name; }
  // The means of golden/make_imatrix.py.
  static double mean(const std::string& name, size_t i) { return (double(i) + double(name.size()) - 18) / 4; }

  test::TemporaryFolder folder;
};

TEST_F(ImatrixTest, reads_both_formats) {
  const std::map<std::string, std::vector<double>> counts{
      {"blk.0.attn_q.weight", {24}}, {"blk.0.ffn_down_exps.weight", {10, 0, 38}}, {"blk.1.attn_q.weight", {24}}};
  const Imatrix gguf = read_imatrix(golden("imatrix.gguf")), dat = read_imatrix(golden("imatrix.dat"), 8);
  for (const Imatrix* m : {&gguf, &dat}) {
    EXPECT_EQ(m->chunks, 3);
    EXPECT_EQ(m->chunk_size, 8);
    EXPECT_EQ(m->datasets, std::vector<std::string>{"text.txt"});
    ASSERT_EQ(m->entries.size(), counts.size());
  }
  for (const auto& [name, own] : counts) {
    const ImatrixEntry &entry = gguf.entries.at(name), &older = dat.entries.at(name);
    EXPECT_EQ(entry.counts, own);
    EXPECT_EQ(older.counts, std::vector<double>{own.size() == 3 ? 40.0 : 24.0});  // of the fullest, in whole chunks
    ASSERT_EQ(entry.sums.size(), older.sums.size());
    for (size_t i = 0; i < entry.sums.size(); ++i) {
      const double count = own[i / size_t(entry.columns())];
      EXPECT_EQ(entry.sums[i], mean(name, i) * count);
      EXPECT_EQ(older.sums[i], (count > 0 ? mean(name, i) : 1) * older.counts[0]);
    }
  }
}

TEST_F(ImatrixTest, writes_the_same_bytes) {
  const Imatrix matrix = read_imatrix(golden("imatrix.gguf"));
  write_imatrix(folder / "m.gguf", matrix, ImatrixFormat::gguf);
  write_imatrix(folder / "m.dat", matrix, ImatrixFormat::dat);
  EXPECT_EQ(read_file(folder / "m.dat"), read_file(golden("imatrix.dat")));
  const Imatrix again = read_imatrix(folder / "m.gguf");
  EXPECT_EQ(again.chunks, matrix.chunks);
  EXPECT_EQ(again.chunk_size, matrix.chunk_size);
  EXPECT_EQ(again.datasets, matrix.datasets);
  for (const auto& [name, entry] : matrix.entries) {
    EXPECT_EQ(again.entries.at(name).sums, entry.sums);
    EXPECT_EQ(again.entries.at(name).counts, entry.counts);
  }
}

TEST_F(ImatrixTest, files_are_added_up) {
  Imatrix sum = read_imatrix(golden("imatrix.gguf"));
  add_imatrix(sum, read_imatrix(golden("imatrix.gguf")), "f");
  EXPECT_EQ(sum.chunks, 6);
  EXPECT_EQ(sum.datasets.size(), 1u);
  EXPECT_EQ(sum.entries.at("blk.0.ffn_down_exps.weight").counts, (std::vector<double>{20, 0, 76}));
  EXPECT_EQ(sum.entries.at("blk.0.attn_q.weight").sums[1], 2 * 24 * mean("blk.0.attn_q.weight", 1));
  Imatrix older = read_imatrix(golden("imatrix.dat"), 8);  // one count for all experts
  add_imatrix(older, read_imatrix(golden("imatrix.gguf")), "f");
  EXPECT_EQ(older.entries.at("blk.0.ffn_down_exps.weight").counts, (std::vector<double>{50, 40, 78}));
  Imatrix other;
  other.entries["blk.0.attn_q.weight"] = {.sums = {1, 2}, .counts = {1}};
  EXPECT_EQ(message_of<WeightError>([&] { add_imatrix(sum, other, "f"); }), "f: 'blk.0.attn_q.weight' has 2 sums, expected 4");
}

TEST_F(ImatrixTest, importance_is_relative_to_the_mean) {
  const ImatrixEntry entry{.sums = {4, 8, 12, 0, 0, 0, 0, 6, 0}, .counts = {2, 0, 3}};
  EXPECT_EQ(importance_of(entry, 0, 3), (std::vector<float>{0.5f, 1, 1.5f}));
  EXPECT_TRUE(importance_of(entry, 1, 3).empty());
  EXPECT_EQ(importance_of(entry, 2, 3), (std::vector<float>{1e-5f, 3, 1e-5f}));
  EXPECT_EQ(importance_of({.sums = {1, 3}, .counts = {5}}, 7, 2), (std::vector<float>{0.5f, 1.5f}));  // one for all matrices
  EXPECT_TRUE(importance_of({.sums = {0, 0}, .counts = {5}}, 0, 2).empty());
}

TEST_F(ImatrixTest, files_that_are_none_are_refused) {
  const std::string whole = read_file(golden("imatrix.dat"));
  const auto refused = [&](const std::string& bytes) {
    write_file(folder / "f", bytes);
    return message_of<Error>([&] { read_imatrix(folder / "f"); }, folder.path());
  };
  const size_t entries = whole.size() - 16;  // the rest may be missing
  for (size_t n = 0; n < entries; ++n) EXPECT_NE(refused(whole.substr(0, n)), "") << n;
  EXPECT_EQ(refused(whole.substr(0, entries)), "");
  EXPECT_EQ(refused(""), "FOLDER/f: ends after 0 bytes, within an entry");
  EXPECT_EQ(refused("a text file"), "FOLDER/f: the number of entries is 1702109281, expected 0 to 11; is it an importance matrix?");
  EXPECT_EQ(refused(std::string(4, '\0')), "FOLDER/f: has no entries; is it an importance matrix?");
  std::string negative = whole;
  negative[4 + 4 + 19 + 8 + 3] = char(0xc0);  // the first value
  EXPECT_EQ(refused(negative), "FOLDER/f: 'blk.0.attn_q.weight' has 1 negative, NaN or infinite values");
  EXPECT_EQ(message_of<IoError>([&] { read_imatrix(golden("every.gguf")); }, golden("").parent_path()),
            "FOLDER/every.gguf: 'general.type' = \"\", expected \"imatrix\"");
  EXPECT_NE(message_of<IoError>([&] { read_imatrix(folder / "none"); }), "");
}

}  // namespace
}  // namespace hearth
