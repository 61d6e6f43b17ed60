// hearth quantize, as a process. What it writes is checked in src/api/files/quantize_test.cpp.
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "core/files/file.h"
#include "weights/gguf/gguf_writer.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class QuantizeCommandTest : public CommandTest {
 protected:
  void write_model(const char* name, int64_t row = 32) {
    GgufValues values;
    values.text("general.architecture", "llama");
    const std::vector<GgufTensor> tensors{{"output.weight", DType::f32, {3, row}}, {"output_norm.weight", DType::f32, {4}}};
    write_gguf(folder / name, values, tensors, [&](size_t i, const WriteBytes& write) {
      const std::vector<float> x(size_t(tensors[i].shape.numel()), 0.5f);
      write(std::as_bytes(std::span(x)));
    });
  }
};

TEST_F(QuantizeCommandTest, writes_a_gguf_file) {
  write_model("a.gguf");
  const Ended text = run({"quantize", "-m", "a.gguf", "-o", "b.gguf", "--type", "q8_0"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out, "b.gguf: llama, 100 parameters in 2 tensors (1 f32, 1 q8_0), 416 B\n");
  EXPECT_EQ(fs::file_size(folder / "b.gguf"), 416u);
  const Json json = Json::parse(run({"quantize", "-m", "a.gguf", "-o", "c.gguf", "--type", "q4_0", "--pure", "--json"}).out);
  EXPECT_EQ(json["types"], Json({{"f32", 1}, {"q4_0", 1}}));
  EXPECT_EQ(json["parameters"], 100);
  EXPECT_EQ(json["notes"], Json::array());
  EXPECT_EQ(Json::parse(run({"inspect", "c.gguf", "--json"}).out)["components"][0]["class"], "llama");
}

TEST_F(QuantizeCommandTest, other_types_than_requested_are_noted) {
  write_model("a.gguf", 40);
  const Ended r = run({"quantize", "-m", "a.gguf", "-o", "b.gguf"});
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.err.find("note: 1 tensors whose rows are not whole blocks are written as f16: output.weight [3, 40]"), std::string::npos)
      << r.err;
}

TEST_F(QuantizeCommandTest, errors_are_one_line) {
  write_model("a.gguf");
  EXPECT_EQ(not_one_line(run({"quantize", "-o", "b.gguf"}), 2), "");
  EXPECT_EQ(not_one_line(run({"quantize", "-m", "a.gguf"}), 2), "");
  EXPECT_EQ(not_one_line(run({"quantize", "-m", "a.gguf", "-o", "b.gguf", "--type", "q9"}), 2), "");
  EXPECT_EQ(not_one_line(run({"quantize", "-m", "nowhere", "-o", "b.gguf"}), 1), "");
  EXPECT_EQ(not_one_line(run({"quantize", "-m", "a.gguf", "-o", "nowhere/b.gguf"}), 1), "");
  fs::resize_file(folder / "a.gguf", 200);
  EXPECT_EQ(not_one_line(run({"quantize", "-m", "a.gguf", "-o", "b.gguf"}), 1), "");
  EXPECT_FALSE(fs::exists(folder / "b.gguf"));
}

}  // namespace
}  // namespace hearth::test
