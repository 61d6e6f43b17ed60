#include "core/files/sha256.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"

namespace hearth {
namespace {

std::string hashed(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

// Examples of FIPS 180-4, and every length around the end of a block, as printed by `sha256sum`.
TEST(Sha256, known_answers) {
  EXPECT_EQ(hashed(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hashed("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hashed("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hashed(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  const std::pair<size_t, const char*> ends[] = {{55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
                                                 {56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
                                                 {63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
                                                 {64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
                                                 {65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
                                                 {119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
                                                 {120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"}};
  for (const auto& [length, digits] : ends) EXPECT_EQ(hashed(std::string(length, 'x')), digits) << length;
}

TEST(Sha256, accepts_pieces_of_any_size) {
  const std::string text(300, 'q');
  for (const size_t piece : {1, 3, 63, 64, 65, 200}) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += piece) hash.add(std::string_view(text).substr(at, piece));
    EXPECT_EQ(hash.hex(), hashed(text)) << piece;
  }
}

TEST(Sha256, files_one_after_another) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "hearth_sha256_test";
  std::filesystem::create_directories(folder);
  const std::filesystem::path files[] = {folder / "a", folder / "b"};
  std::ofstream(files[0]) << "ab";
  std::ofstream(files[1]) << "c";
  EXPECT_EQ(sha256_of_files(files), hashed("abc"));
  const std::filesystem::path missing[] = {folder / "none"};
  EXPECT_THROW(sha256_of_files(missing), IoError);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hearth
