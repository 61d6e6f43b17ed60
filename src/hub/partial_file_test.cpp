#include "hub/partial_file.h"

#include <gtest/gtest.h>

#include "core/files/file.h"
#include "support/files.h"

namespace hearth::hub {
namespace {

using Gaps = std::vector<Range>;

TEST(PartialFile, ranges_in_any_order) {
  const test::TemporaryFolder folder;
  PartialFile file(folder / "x", 10);
  EXPECT_EQ(file.missing(), (Gaps{{0, 10}}));
  file.write(4, "ef");
  file.write(8, "i");
  EXPECT_EQ(file.missing(), (Gaps{{0, 4}, {6, 8}, {9, 10}}));
  file.write(5, "fgh");  // overlaps one, touches the other
  EXPECT_EQ(file.missing(), (Gaps{{0, 4}, {9, 10}}));
  EXPECT_EQ(file.done(), 5);
  file.write(9, "j");
  file.write(0, "abcd");
  EXPECT_TRUE(file.is_complete());
  EXPECT_EQ(file.missing(), Gaps{});
  EXPECT_EQ(read_file(file.path()), "abcdefghij");
}

TEST(PartialFile, resumes) {
  const test::TemporaryFolder folder;
  {
    PartialFile file(folder / "x", 10);
    file.write(3, "def");
    file.set_etag("tag");
    file.save();
  }
  {
    const PartialFile file(folder / "x", 10);
    EXPECT_EQ(file.missing(), (Gaps{{0, 3}, {6, 10}}));
    EXPECT_EQ(file.etag(), "tag");
    EXPECT_FALSE(file.is_verified());
  }
  const PartialFile other(folder / "x", 11);  // of another size: starts over
  EXPECT_EQ(other.done(), 0);
  EXPECT_EQ(other.etag(), "");
}

TEST(PartialFile, distrusts_its_sidecar) {
  const test::TemporaryFolder folder;
  const auto done_with = [&](const std::string& json) {
    write_file(folder / "x.part", "abcdef");
    write_file(folder / "x.json", json);
    return PartialFile(folder / "x", 10).done();
  };
  EXPECT_EQ(done_with(R"({"size": 10, "etag": "", "verified": false, "done": [[0, 4]]})"), 4);
  EXPECT_EQ(done_with(R"({"size": 10, "etag": "", "verified": false, "done": [[0, 8]]})"), 0);  // longer than the file
  EXPECT_EQ(done_with(R"({"size": 10, "etag": "", "verified": false, "done": [[-1, 4]]})"), 0);
  EXPECT_EQ(done_with(R"({"size": 10, "etag": "", "verified": false, "done": [[4, 4]]})"), 0);
  EXPECT_EQ(done_with(R"({"size": 10, "done": [[0, 4]]})"), 0);
  EXPECT_EQ(done_with("nonsense"), 0);
  EXPECT_EQ(std::filesystem::file_size(folder / "x.part"), 0u);
}

}  // namespace
}  // namespace hearth::hub
