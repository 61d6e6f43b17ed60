#include "weights/zip/zip_writer.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/files.h"
#include "weights/zip/zip_archive.h"

namespace hearth {
namespace {

TEST(ZipWriter, the_published_check_value_of_crc32) {
  const test::TemporaryFolder folder;
  ZipWriter zip(folder / "a.zip");
  zip.add("a", 9, [](const ZipWriter::Write& write) { write("1234"), write("56789"); });
  zip.commit();
  const std::string bytes = read_file(folder / "a.zip"), sum = "\x26\x39\xf4\xcb";
  const size_t descriptor = bytes.find("PK\7\x8" + sum), directory = bytes.find("PK\1\2");
  ASSERT_NE(descriptor, std::string::npos);
  ASSERT_NE(directory, std::string::npos);
  EXPECT_EQ(bytes.substr(directory + 16, 4), sum);
}

TEST(ZipWriter, members_are_read_back_and_aligned) {
  const test::TemporaryFolder folder;
  ZipWriter zip(folder / "a.zip");
  const std::string long_text(1000, 'x');
  zip.add("empty", 0, [](const ZipWriter::Write&) {});
  zip.add("folder/a.txt", 5, [](const ZipWriter::Write& write) { write("ab"), write("cde"); });
  zip.add("b", long_text.size(), [&](const ZipWriter::Write& write) { write(long_text); });
  EXPECT_FALSE(std::filesystem::exists(folder / "a.zip"));
  zip.commit();
  const std::string bytes = read_file(folder / "a.zip");
  const ZipArchive archive = ZipArchive::parse(bytes, "a.zip");
  ASSERT_EQ(archive.members().size(), 3u);
  for (const auto& [name, text] :
       std::initializer_list<std::pair<std::string, std::string>>{{"empty", ""}, {"folder/a.txt", "abcde"}, {"b", long_text}}) {
    const ZipMember& m = archive.stored(name);
    EXPECT_EQ(bytes.substr(m.begin, m.end - m.begin), text);
    EXPECT_EQ(m.begin % 64, 0u) << name;
  }
}

TEST(ZipWriter, a_member_of_another_size_is_refused) {
  const test::TemporaryFolder folder;
  ZipWriter zip(folder / "a.zip");
  EXPECT_EQ(test::message_of<UsageError>([&] { zip.add("a", 3, [](const ZipWriter::Write& write) { write("ab"); }); }),
            "zip: 'a' got 2 bytes, expected 3");
}

}  // namespace
}  // namespace hearth
