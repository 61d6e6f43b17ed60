// hearth calibrate, as a process. What it writes is checked in tests/e2e/imatrix_test.cpp.
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "core/files/file.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* demo = HEARTH_SOURCE_DIR "/assets/demo-language-model";

class CalibrateCommandTest : public CommandTest {
 protected:
  CalibrateCommandTest() {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "Tom was the keeper of a lighthouse above a quiet bay. ";
    write_file(folder / "text.txt", text);
  }
};

TEST_F(CalibrateCommandTest, writes_an_importance_matrix) {
  const Ended text = run({"calibrate", "imatrix", "-m", demo, "-f", "text.txt", "-o", "i.gguf", "-c", "64", "--chunks", "2"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out, "i.gguf: 14 matrices, 2 chunks\n");
  const Json json = Json::parse(run({"calibrate",
                                     "imatrix",
                                     "-m",
                                     demo,
                                     "-f",
                                     "text.txt",
                                     "-o",
                                     "j.dat",
                                     "--output-format",
                                     "dat",
                                     "-c",
                                     "64",
                                     "--first-chunk",
                                     "2",
                                     "--chunks",
                                     "1",
                                     "--in-file",
                                     "i.gguf",
                                     "--process-output",
                                     "--json"})
                                    .out);
  EXPECT_EQ(json["entries"], 15);
  EXPECT_EQ(json["chunks"], 3);
  EXPECT_EQ(json["tokens"], 64);
  EXPECT_EQ(run({"calibrate", "imatrix", "--in-file", "i.gguf", "--in-file", "j.dat", "-o", "k.gguf"}).out,
            "k.gguf: 15 matrices, 5 chunks\n");
}

TEST_F(CalibrateCommandTest, errors_are_one_line) {
  EXPECT_EQ(not_one_line(run({"calibrate", "-m", demo, "-f", "text.txt", "-o", "i.gguf"}), 2), "");
  EXPECT_EQ(not_one_line(run({"calibrate", "steps", "-m", demo, "-f", "text.txt", "-o", "i.gguf"}), 2), "");
  EXPECT_EQ(not_one_line(run({"calibrate", "imatrix", "-m", demo, "-f", "text.txt"}), 2), "");
  EXPECT_EQ(not_one_line(run({"calibrate", "imatrix", "-m", demo, "-o", "i.gguf"}), 2), "");
  EXPECT_EQ(not_one_line(run({"calibrate", "imatrix", "-m", demo, "-f", "text.txt", "-o", "i.gguf", "-c", "100000"}), 2), "");
  EXPECT_EQ(not_one_line(run({"calibrate", "imatrix", "-m", demo, "-f", "nowhere", "-o", "i.gguf"}), 1), "");
  EXPECT_EQ(not_one_line(run({"calibrate", "imatrix", "-m", demo, "-f", "text.txt", "-o", "nowhere/i.gguf"}), 1), "");
  EXPECT_EQ(not_one_line(run({"calibrate", "imatrix", "--in-file", "text.txt", "-o", "i.gguf"}), 1), "");
  EXPECT_FALSE(fs::exists(folder / "i.gguf"));
}

}  // namespace
}  // namespace hearth::test
