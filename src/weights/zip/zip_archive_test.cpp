#include "weights/zip/zip_archive.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/error.h"
#include "support/files.h"
#include "support/torch_writer.h"

namespace hearth {
namespace {

using test::message_of;

const test::NamedBytes members{{"a/data.pkl", "pickle"}, {"a/data/0", std::string(100, 'x')}, {"a/version", "3\n"}};

// `bytes` with an integer of `size` bytes written at `position`.
std::string with(std::string bytes, size_t position, uint64_t value, size_t size) {
  std::memcpy(bytes.data() + position, &value, size);
  return bytes;
}

std::string told(const std::string& bytes) {
  return message_of<IoError>([&] { ZipArchive::parse(bytes, "f"); });
}

class ZipArchiveTest : public testing::Test {
 protected:
  const std::string good = test::zipped(members);
  const size_t end = good.size() - 22, directory = good.find("PK\1\2"), second = good.find("PK\1\2", directory + 1);

  // The same archive with 64-bit sizes: those of the second member in its entry, those of the directory in a separate end record.
  std::string wide() const {
    const auto number = [](uint64_t value, size_t size) { return std::string(reinterpret_cast<const char*>(&value), size); };
    const size_t name_end = second + 46 + 8;
    std::string bytes = with(good, second + 20, 0xffffffff, 4);
    bytes = with(bytes, second + 24, 0xffffffff, 4);
    const uint64_t header = good.find("PK\3\4", 10);
    bytes = with(bytes, second + 42, 0xffffffff, 4);
    bytes = with(bytes, second + 30, 6 + 28, 2);
    std::string extra = number(0x7075, 2) + number(2, 2) + "??";  // of another kind, must be ignored
    extra += number(1, 2) + number(24, 2) + number(100, 8) + number(100, 8) + number(header, 8);
    bytes.insert(name_end, extra);
    const size_t record = end + extra.size();
    std::string wide_end = "PK\6\6";
    wide_end += number(44, 8) + number(45, 2) + number(45, 2) + number(0, 4) + number(0, 4) + number(3, 8) + number(3, 8) +
                number(record - directory, 8) + number(directory, 8);
    std::string locator = "PK\6\7";
    locator += number(0, 4) + number(record, 8) + number(1, 4);
    bytes.insert(record, wide_end + locator);
    const size_t last = bytes.size() - 22;
    bytes = with(bytes, last + 8, 0xffff, 2);
    bytes = with(bytes, last + 10, 0xffff, 2);
    bytes = with(bytes, last + 12, 0xffffffff, 4);
    return with(bytes, last + 16, 0xffffffff, 4);
  }
};

void expect_members(const std::string& bytes) {
  const ZipArchive archive = ZipArchive::parse(bytes, "f");
  EXPECT_EQ(archive.members().size(), members.size());
  for (const auto& [name, content] : members) {
    ASSERT_TRUE(archive.has(name));
    const ZipMember& member = archive.stored(name);
    EXPECT_EQ(bytes.substr(member.begin, member.end - member.begin), content);
  }
}

TEST_F(ZipArchiveTest, members_are_found) {
  expect_members(good);
  EXPECT_TRUE(ZipArchive::is_one(good));
  EXPECT_FALSE(ZipArchive::is_one("PK"));
  const ZipArchive archive = ZipArchive::parse(good, "f");
  EXPECT_FALSE(archive.has("b"));
  EXPECT_EQ(message_of<IoError>([&] { archive.stored("b"); }), "f: has no member 'b'");
  const std::string nothing = test::zipped({});
  EXPECT_TRUE(ZipArchive::parse(nothing, "f").members().empty());
  EXPECT_TRUE(ZipArchive::is_one(nothing));
  expect_members(with(good, end + 20, 7, 2) + "comment");
  expect_members(with(good, end + 20, 34, 2).append("PK\5\6").append(30, 'x'));  // not a second end record
  // With a data descriptor, the sizes in the member's own header are zero.
  const size_t own = good.find("PK\3\4", 10);
  expect_members(with(with(good, own + 6, 8, 2), own + 18, 0, 8));
}

TEST_F(ZipArchiveTest, sizes_of_64_bits) {
  const std::string bytes = wide();
  expect_members(bytes);
  const size_t locator = bytes.find("PK\6\7"), record = bytes.find("PK\6\6"), extra = bytes.find("up");
  EXPECT_EQ(told(with(bytes, locator + 8, record + 1, 8)),
            "f: has no 64-bit end record at byte " + std::to_string(record + 1) + ", where the archive says it is");
  EXPECT_NE(told(with(bytes, locator + 8, UINT64_MAX, 8)), "");
  EXPECT_NE(told(with(bytes, record + 48, UINT64_MAX, 8)), "");
  EXPECT_NE(told(with(bytes, record + 40, UINT64_MAX, 8)), "");
  EXPECT_NE(told(with(bytes, record + 32, UINT64_MAX, 8)), "");
  EXPECT_NE(told(with(bytes, extra + 10, UINT64_MAX, 8)), "");  // sizes
  EXPECT_NE(told(with(bytes, extra + 18, UINT64_MAX, 8)), "");
  EXPECT_NE(told(with(bytes, extra + 26, UINT64_MAX, 8)), "");  // place
  EXPECT_EQ(told(with(bytes, extra + 8, 16, 2)), "f: member 'a/data/0' lacks a 64-bit size that its entry requires");
  EXPECT_NE(told(with(bytes, extra + 8, 60000, 2)), "");
  // The extra field holds only the sizes that do not fit in 32 bits.
  const size_t entry = bytes.find("PK\1\2", bytes.find("PK\1\2") + 1), header = good.find("PK\3\4", 10);
  const std::string sized = with(with(bytes, entry + 20, 100, 4), entry + 24, 100, 4);
  expect_members(with(with(sized, extra + 8, 24, 2), extra + 10, header, 8));
}

TEST_F(ZipArchiveTest, false_sizes_and_offsets_are_detected) {
  EXPECT_EQ(told(""), "f: has no end record of a zip archive: the file is cut off");
  for (size_t length = 0; length < good.size(); ++length) EXPECT_NE(told(good.substr(0, length)), "") << length;
  EXPECT_EQ(told(with(good, second, 0, 1)), fmt::format("f: the directory of the zip archive has no entry 2 of 3 at byte {}", second));
  EXPECT_EQ(told(with(good, end + 10, 2, 2)), "f: 55 bytes of the zip archive's directory belong to no entry");
  EXPECT_EQ(told(with(good, end + 10, 60, 2)), "f: a directory of " + std::to_string(end - directory) + " bytes cannot list 60 members");
  EXPECT_NE(told(with(good, end + 16, end + 1, 4)), "");
  EXPECT_NE(told(with(good, end + 12, end - directory + 1, 4)), "");
  EXPECT_EQ(told(with(good, second + 28, 9000, 2)), "f: entry 2 of the zip archive is cut off");
  EXPECT_EQ(told(with(good, second + 46, 'b', 1)), "f: member 'b/data/0' has another name in its own header");
  EXPECT_EQ(told(with(good, second + 42, 0, 4)), "f: member 'a/data/0' has another name in its own header");
  EXPECT_EQ(told(with(good, second + 42, 1, 4)), "f: member 'a/data/0' has no header at byte 1, where the directory says it is");
  EXPECT_EQ(told(with(good, second + 42, end, 4)),
            "f: member 'a/data/0' has no header at byte " + std::to_string(end) + ", where the directory says it is");
  EXPECT_EQ(told(with(good, second + 24, 101, 4)), "f: member 'a/data/0' is stored in 100 bytes, but its size is given as 101");
  EXPECT_EQ(told(with(with(good, second + 24, 150, 4), second + 20, 150, 4)), "f: members 'a/data/0' and 'a/version' overlap");
  EXPECT_NE(told(with(with(good, second + 24, 9000, 4), second + 20, 9000, 4)).find("is said to be 9000 bytes at byte"), std::string::npos);
  const std::string twice = test::zipped({{"a", "x"}, {"a", "y"}});
  EXPECT_EQ(told(twice), "f: member 'a' exists twice");
}

// A zip bomb requires compression, or members that share bytes.
TEST_F(ZipArchiveTest, compressed_members_are_refused_on_request) {
  const auto refused = [&](const std::string& bytes) {
    return message_of<UnsupportedError>([&] { ZipArchive::parse(bytes, "f").stored("a/data/0"); });
  };
  EXPECT_EQ(refused(with(with(good, second + 10, 8, 2), second + 24, 4000000000, 4)),
            "f: member 'a/data/0' is compressed (method 8), expected uncompressed members");
  EXPECT_EQ(refused(with(good, second + 8, 1, 2)), "f: member 'a/data/0' is encrypted, which is not supported");
  EXPECT_EQ(refused(with(good, end + 4, 1, 2)), "f: is one file of a multi-part zip archive, which is not supported");
  const size_t third = good.find("PK\1\2", second + 1);
  const std::string same = with(with(good, third + 42, good.find("PK\3\4", 10), 4), third + 28, 8, 2);
  EXPECT_NE(told(same), "");
}

}  // namespace
}  // namespace hearth
