// Every command opens a folder that contains only a GGUF file as that file.
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "core/files/file.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class GgufFolderTest : public CommandTest {
 protected:
  GgufFolderTest() {
    fs::create_directory(folder / "dir");
    const Ended made = run({"quantize", "-m", HEARTH_SOURCE_DIR "/assets/demo-language-model", "-o", "dir/model.gguf", "--type", "q8_0"});
    EXPECT_EQ(made.code, 0) << made.err;
  }
  // What the command prints for the folder and for the file.
  void expect_same(std::vector<std::string> before, const std::vector<std::string>& after = {}) const {
    const auto said = [&](const char* model) {
      std::vector<std::string> arguments = before;
      arguments.emplace_back(model);
      arguments.insert(arguments.end(), after.begin(), after.end());
      const Ended ended = run(arguments);
      EXPECT_EQ(ended.code, 0) << ended.err;
      return ended.out;
    };
    const std::string of_file = said("dir/model.gguf");
    EXPECT_FALSE(of_file.empty());
    EXPECT_EQ(said("dir"), of_file) << before[0];
  }
};

TEST_F(GgufFolderTest, gives_what_the_file_gives) {
  expect_same({"inspect"});
  expect_same({"inspect", "--json"});
  expect_same({"tokenize", "-m"}, {"-p", "The lighthouse"});
  expect_same({"complete", "-m"}, {"-p", "The lighthouse stood", "--max-tokens", "8", "--temperature", "0"});
  expect_same({"quantize", "-o", "again.gguf", "--type", "q4_0", "-m"});
}

TEST_F(GgufFolderTest, has_the_perplexity_of_the_file) {
  write_file(folder / "text", "The lighthouse stood on the rock.");
  const auto perplexity = [&](const char* model) {
    return Json::parse(run({"perplexity", "-m", model, "-f", "text", "--json"}).out).at("perplexity");
  };
  EXPECT_EQ(perplexity("dir"), perplexity("dir/model.gguf"));
}

TEST_F(GgufFolderTest, several_files_are_an_error_that_lists_them) {
  fs::copy_file(folder / "dir/model.gguf", folder / "dir/again.gguf");
  const std::string line = "hearth: dir: holds 2 GGUF models, expected the path of one: again.gguf, model.gguf\n";
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"inspect", "dir"},
                                                    {"complete", "-m", "dir", "-p", "The"},
                                                    {"tokenize", "-m", "dir", "-p", "The"},
                                                    {"quantize", "-m", "dir", "-o", "x.gguf"}}) {
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.code, 2) << arguments[0];
    EXPECT_EQ(ended.err, line) << arguments[0];
  }
}

}  // namespace
}  // namespace hearth::test
