#include "api/files/hashes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "support/files.h"

namespace hearth::api {
namespace {

TEST(WeightHashes, are_computed_once_for_all_threads) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a";
  std::ofstream(file) << "abc";
  WeightHashes hashes({{"unet", {file}}}, {});
  std::vector<const Hashes*> seen(8);
  std::vector<std::thread> threads;
  for (const Hashes*& one : seen)
    threads.emplace_back([&] {
      hashes.start();
      one = &hashes.get();
    });
  for (std::thread& thread : threads) thread.join();
  for (const Hashes* one : seen) EXPECT_EQ(one, seen[0]);
  EXPECT_EQ(*seen[0], (Hashes{{"unet", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}}));  // the example of FIPS 180-2
}

}  // namespace
}  // namespace hearth::api
