#include "api/assets.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "core/error.h"
#include "support/files.h"

namespace hearth::api {
namespace {

namespace fs = std::filesystem;

// ctest runs each test in its own process; run together, they must not leave the variable set.
class Assets : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv("HEARTH_ASSETS"); }
  void TearDown() override { unsetenv("HEARTH_ASSETS"); }
};

TEST_F(Assets, of_the_source_tree_hold_the_demo_model) {
  EXPECT_TRUE(fs::equivalent(assets_folder(), fs::path(HEARTH_SOURCE_DIR) / "assets"));
  EXPECT_TRUE(fs::exists(demo_model_folder() / "model_index.json"));
  EXPECT_TRUE(fs::exists(demo_language_model_folder() / "config.json"));
}

// The next test reads the output of this one from a copy of this program.
TEST_F(Assets, are_in_an_existing_folder) {
  const fs::path folder = assets_folder();
  fmt::print("<{}>\n", folder.string());
  EXPECT_TRUE(fs::is_directory(folder));
}

TEST_F(Assets, an_installed_folder_precedes_the_source_tree) {
  const test::TemporaryFolder prefix;
  fs::create_directories(prefix / "bin");
  fs::copy_file("/proc/self/exe", prefix / "bin/program");
  const std::string command = (prefix / "bin/program").string() + " --gtest_filter=Assets.are_in_an_existing_folder";
  const auto printed = [&] {
    FILE* out = popen(command.c_str(), "r");
    std::string text(1 << 16, '\0');
    text.resize(fread(text.data(), 1, text.size(), out));
    EXPECT_EQ(pclose(out), 0) << text;
    return text.substr(text.find('<') + 1, text.find('>') - text.find('<') - 1);
  };
  EXPECT_EQ(printed(), std::string(HEARTH_SOURCE_DIR) + "/assets");
  fs::create_directories(prefix / "share/hearth");
  EXPECT_EQ(printed(), prefix / "share/hearth");
}

TEST_F(Assets, the_variable_precedes_all) {
  const fs::path chosen = ::testing::TempDir();
  setenv("HEARTH_ASSETS", chosen.c_str(), 1);
  EXPECT_EQ(assets_folder(), chosen);
  EXPECT_EQ(demo_model_folder(), chosen / "demo-model");
  EXPECT_EQ(demo_language_model_folder(), chosen / "demo-language-model");
  setenv("HEARTH_ASSETS", "", 1);  // empty is unset
  EXPECT_TRUE(fs::equivalent(assets_folder(), fs::path(HEARTH_SOURCE_DIR) / "assets"));
}

TEST_F(Assets, a_variable_without_a_folder_is_an_error) {
  setenv("HEARTH_ASSETS", "nowhere/at/all", 1);
  EXPECT_EQ(test::message_of<IoError>(assets_folder), "assets: $HEARTH_ASSETS is 'nowhere/at/all', expected a folder");
}

}  // namespace
}  // namespace hearth::api
