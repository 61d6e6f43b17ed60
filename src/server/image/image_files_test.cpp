#include "server/image/image_files.h"

#include <gtest/gtest.h>

#include <thread>

#include "server/api_error.h"

namespace hearth::server {
namespace {

TEST(ImageFiles, KeepsFilesForAWhile) {
  ImageFiles files({.life = std::chrono::seconds(1), .bytes = 100});
  const std::string name = files.add({"image/png", "abc"}, "png"), other = files.add({"image/png", "abd"}, "png");
  EXPECT_EQ(name.size(), 36u);
  EXPECT_TRUE(name.ends_with(".png"));
  EXPECT_NE(name, other);
  ASSERT_TRUE(files.find(name));
  EXPECT_EQ(files.find(name)->bytes, "abc");
  EXPECT_FALSE(files.find("../" + name));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  EXPECT_FALSE(files.find(name));
  EXPECT_EQ(files.bytes(), 0u);
}

TEST(ImageFiles, DropsTheOldestBeyondItsBytes) {
  ImageFiles files({.bytes = 100});
  std::vector<std::string> names;
  for (int i = 0; i < 4; ++i) names.push_back(files.add({"image/png", std::string(30, 'x')}, "png"));
  EXPECT_FALSE(files.find(names[0]));
  for (int i = 1; i < 4; ++i) EXPECT_TRUE(files.find(names[size_t(i)])) << i;
  EXPECT_EQ(files.bytes(), 90u);
  const std::string large = files.add({"image/png", std::string(80, 'x')}, "png");
  for (const std::string& name : names) EXPECT_FALSE(files.find(name)) << name;
  EXPECT_TRUE(files.find(large));
  EXPECT_EQ(files.bytes(), 80u);
  EXPECT_THROW(files.add({"image/png", std::string(101, 'x')}, "png"), ApiError);
}

}  // namespace
}  // namespace hearth::server
