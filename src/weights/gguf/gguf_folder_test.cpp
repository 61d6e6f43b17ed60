#include "weights/gguf/gguf_folder.h"

#include "core/error.h"
#include "core/files/file.h"
#include "support/files.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

struct GgufFolder : testing::Test {
  void add(const char* name) { write_file(folder / name, ""); }
  std::string problem() {
    return test::message_of<UsageError>([&] { gguf_file_of(folder.path()); }, folder.path());
  }
  test::TemporaryFolder folder;
};

TEST_F(GgufFolder, stands_for_its_only_file) {
  EXPECT_FALSE(is_gguf_folder(folder.path()));
  EXPECT_EQ(gguf_file_of(folder.path()), folder.path());
  add("README.md"), add("m.gguf");
  fs::create_directory(folder / "other.gguf");
  EXPECT_TRUE(is_gguf_folder(folder.path()));
  EXPECT_EQ(gguf_file_of(folder.path()), folder / "m.gguf");
  EXPECT_EQ(gguf_file_of(folder / "m.gguf"), folder / "m.gguf");
}

TEST_F(GgufFolder, parts_are_one_model) {
  for (const char* part : {"m-00002-of-00003.gguf", "m-00001-of-00003.gguf", "m-00003-of-00003.gguf"}) add(part);
  EXPECT_EQ(gguf_file_of(folder.path()), folder / "m-00001-of-00003.gguf");
  add("m-q8.gguf");
  EXPECT_EQ(problem(), "FOLDER: holds 2 GGUF models, expected the path of one: m-00001-of-00003.gguf, m-q8.gguf");
}

TEST_F(GgufFolder, several_files_are_listed) {
  add("b.gguf"), add("a.gguf");
  EXPECT_TRUE(is_gguf_folder(folder.path()));
  EXPECT_EQ(problem(), "FOLDER: holds 2 GGUF models, expected the path of one: a.gguf, b.gguf");
}

TEST_F(GgufFolder, a_published_checkpoint_stays_one) {
  add("m.gguf");
  for (const char* file : {"config.json", "model_index.json", "model.safetensors"}) {
    add(file);
    EXPECT_FALSE(is_gguf_folder(folder.path())) << file;
    fs::remove(folder / file);
  }
  EXPECT_TRUE(is_gguf_folder(folder.path()));
}

}  // namespace
}  // namespace hearth
