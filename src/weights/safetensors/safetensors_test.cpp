#include "weights/safetensors/safetensors.h"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/json.h"
#include "core/memory.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::message_of;

fs::path golden() { return test::folder_of(__FILE__) / "golden"; }

class SafetensorsTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  test::TemporaryFolder folder;

  std::string refusal(const std::string& json, size_t data_bytes) {
    return message_of<IoError>([&] { parse_safetensors_header(json, data_bytes, "f"); });
  }
};

// Every file of the corpus is accepted or refused as by the reference, except for the differences that README.md lists.
TEST_F(SafetensorsTest, agrees_with_the_reference_on_the_corpus) {
  const std::set<std::string> stricter{"name_twice", "field_unknown", "header_begins_with_space"};
  const nlohmann::json verdicts = load_json(golden() / "corpus.json")["files"];
  int read = 0, refused = 0;
  for (const auto& item : verdicts.items()) {
    const std::string& file = item.key();  // not a structured binding: Clang 14 cannot capture those
    const nlohmann::json& verdict = item.value();
    SCOPED_TRACE(file);
    const std::string stem = fs::path(file).stem().string();
    const auto open = [&] { return SafetensorsFile::open(golden() / "corpus" / file); };
    if (stem == "dtype_unknown" || stem == "nine_axes") continue;  // covered by a test of their own
    if (verdict.contains("refused") || stricter.contains(stem)) {
      EXPECT_NE(message_of<IoError>(open), "");
      ++refused;
      continue;
    }
    const auto opened = open();
    EXPECT_EQ(opened->header().metadata, verdict["metadata"].get<Metadata>());
    EXPECT_EQ(opened->list().size(), verdict["tensors"].size());
    for (const auto& [name, expected] : verdict["tensors"].items()) {
      const Tensor x = opened->read(name, {}, *device);
      EXPECT_EQ(std::vector<int64_t>(x.shape().begin(), x.shape().end()), expected[1].get<std::vector<int64_t>>());
      if (name.starts_with("f8")) continue;
      std::vector<float> values;
      for (const auto& value : expected[2]) values.push_back(float(value.get<double>()));
      EXPECT_EQ(x.to_vector(), values) << name;
    }
    ++read;
  }
  EXPECT_EQ(read, 10);
  EXPECT_EQ(refused, 39);
}

TEST_F(SafetensorsTest, knows_every_type) {
  const auto file = SafetensorsFile::open(golden() / "corpus" / "every_type.safetensors");
  const std::map<std::string, DType> types{{"f32", DType::f32},      {"f16", DType::f16},         {"bf16", DType::bf16},
                                           {"f64", DType::f64},      {"i8", DType::i8},           {"i16", DType::i16},
                                           {"i32", DType::i32},      {"i64", DType::i64},         {"u8", DType::u8},
                                           {"bool", DType::boolean}, {"f8_e4m3", DType::f8_e4m3}, {"f8_e5m2", DType::f8_e5m2}};
  for (const auto& [name, dtype] : types) EXPECT_EQ(file->list().at(name).dtype, dtype) << name;
}

TEST_F(SafetensorsTest, unsupported_types_are_errors_only_when_used) {
  const auto unknown = SafetensorsFile::open(golden() / "corpus" / "dtype_unknown.safetensors");
  EXPECT_EQ(unknown->read("a", {}, *device).to_vector(), (std::vector<float>{0, 1}));
  EXPECT_EQ(unknown->list().at("b").unreadable, "has the type 'X7', which is not supported");
  EXPECT_NE(message_of<UnsupportedError>([&] { unknown->read("b", {}, *device); }).find("'b' has the type 'X7', which is not supported"),
            std::string::npos);
  const auto axes = SafetensorsFile::open(golden() / "corpus" / "nine_axes.safetensors");
  EXPECT_NE(message_of<UnsupportedError>([&] { axes->read("a", {}, *device); }).find("'a' has 9 axes, at most 8 are supported"),
            std::string::npos);
}

TEST_F(SafetensorsTest, messages_name_the_tensor_and_what_is_wrong) {
  const auto tensor = [](const char* dtype, const char* shape, const char* offsets) {
    return std::string(R"({"dtype": ")") + dtype + R"(", "shape": )" + shape + R"(, "data_offsets": )" + offsets + "}";
  };
  EXPECT_EQ(refusal("{\"a\": " + tensor("F32", "[7]", "[0, 24]") + "}", 24),
            "f: tensor 'a' has 24 bytes of data, its shape and type F32 need 7 elements of 4");
  EXPECT_EQ(refusal("{\"a\": " + tensor("F32", "[4]", "[0, 16]") + ", \"b\": " + tensor("F32", "[3]", "[12, 24]") + "}", 24),
            "f: tensor 'b' overlaps the one before it");
  EXPECT_EQ(refusal("{\"a\": " + tensor("F32", "[2]", "[0, 8]") + ", \"b\": " + tensor("F32", "[2]", "[16, 24]") + "}", 24),
            "f: bytes [8, 16) before tensor 'b' belong to no tensor");
  EXPECT_EQ(refusal("{\"a\": " + tensor("F32", "[6]", "[0, 24]") + "}", 20),
            "f: tensor 'a' is at bytes [0, 24) of 20 bytes of data: the file is cut off or its header is wrong");
  EXPECT_EQ(refusal("{\"a\": " + tensor("F32", "[5]", "[0, 20]") + "}", 24), "f: 4 bytes after the last tensor belong to none");
  EXPECT_EQ(refusal("{\"a\": " + tensor("F32", "[4611686018427387904, 4]", "[0, 0]") + "}", 0),
            "f: tensor 'a' has more elements than any file can hold");
  for (const char* beside_zero :
       {"[4611686018427387904, 4611686018427387904, 0]", "[0, 4294967296, 4294967296]", "[1152921504606846977, 0]"})
    EXPECT_EQ(refusal("{\"a\": " + tensor("F32", beside_zero, "[0, 0]") + "}", 0),
              "f: tensor 'a' has more elements than any file can hold");
  EXPECT_EQ(refusal("{\"a\": " + tensor("F32", "[2]", "[0, 8]") + ", \"a\": " + tensor("F32", "[2]", "[0, 8]") + "}", 8),
            "f: header lists 'a' twice");
  EXPECT_EQ(refusal(R"({"a": {"dtype": "F32", "shape": [6]}})", 24), "f: tensor 'a' lacks dtype, shape or data_offsets");
  EXPECT_EQ(refusal(R"({"a": {"dtype": "F32", "dtype": "F32"}})", 24), "f: tensor 'a' has 'dtype' twice");
  EXPECT_EQ(refusal(R"({"a": 1})", 24), "f: tensor 'a' is malformed, expected an object with dtype, shape and data_offsets");
  EXPECT_EQ(refusal(R"({"__metadata__": {"a": 1}})", 0), "f: __metadata__ is malformed, expected an object of strings");
  EXPECT_EQ(refusal(R"({"__metadata__": {"a": {}}})", 0), "f: __metadata__ is malformed, expected an object of strings");
  EXPECT_EQ(refusal(R"({"__metadata__": {"a": "", "a": ""}})", 0), "f: __metadata__ has the key 'a' twice");
  EXPECT_EQ(refusal(R"({"a": )", 0), "f: header is not well-formed JSON at byte 7");
}

TEST_F(SafetensorsTest, a_file_cut_off_anywhere_is_refused) {
  const std::string whole = read_file(golden() / "corpus" / "two.safetensors");
  for (size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(folder / "cut.safetensors", std::ios::binary) << std::string_view(whole).substr(0, length);
    EXPECT_THROW(SafetensorsFile::open(folder / "cut.safetensors"), IoError) << length;
  }
}

TEST_F(SafetensorsTest, a_header_length_is_checked_before_it_is_used) {
  const auto error = [&](uint64_t length) {
    std::string bytes(64, ' ');
    std::memcpy(bytes.data(), &length, 8);
    std::ofstream(folder / "f", std::ios::binary) << bytes;
    return message_of<IoError>([&] { SafetensorsFile::open(folder / "f"); }, folder.path());
  };
  EXPECT_EQ(error(57), "FOLDER/f: header of 57 bytes in a file of 64: the file is cut off");
  EXPECT_EQ(error(100'000'000), "FOLDER/f: header of 100000000 bytes in a file of 64: the file is cut off");
  EXPECT_EQ(error(100'000'001), "FOLDER/f: header of 100000001 bytes, at most 100000000 are allowed (is it a safetensors file?)");
  EXPECT_EQ(error(56), "FOLDER/f: header does not start with '{' (is it a safetensors file?)");
}

TEST_F(SafetensorsTest, malformed_files_are_refused) {
  EXPECT_EQ(message_of<IoError>([&] { SafetensorsFile::open(folder / "none"); }, folder.path()),
            "FOLDER/none: cannot be opened: No such file or directory");
  EXPECT_EQ(message_of<IoError>([&] { SafetensorsFile::open(folder.path()); }, folder.path()), "FOLDER: is not a regular file");
}

TEST_F(SafetensorsTest, writing_and_reading_gives_the_same_bits) {
  const std::vector<float> values{1, -2.5, 3e-8f, 65504, 0, -0.0f};
  std::map<std::string, Tensor> tensors{{"a.i32", Tensor::from(*device, {2}, std::vector<int32_t>{-1, 7})},
                                        {"empty", Tensor::empty(*device, {0, 3})}};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    tensors[std::string(name_of(dtype))] = Tensor::from(*device, {2, 3}, values, dtype);
  write_safetensors(folder / "w.safetensors", tensors, {{"k", "v \"ü\""}});
  const auto file = SafetensorsFile::open(folder / "w.safetensors");
  EXPECT_EQ(file->header().metadata, (Metadata{{"k", "v \"ü\""}}));
  ASSERT_EQ(file->list().size(), tensors.size());
  for (const auto& [name, x] : tensors) {
    const Tensor y = file->read(name, x.shape(), *device);
    ASSERT_EQ(y.dtype(), x.dtype()) << name;
    ASSERT_EQ(y.shape(), x.shape()) << name;
    EXPECT_EQ(std::memcmp(y.raw(), x.raw(), x.bytes()), 0) << name;
  }
  EXPECT_THROW(write_safetensors(folder / "s.safetensors", {{"x", tensors["f32"].permute({1, 0})}}), ShapeError);
  EXPECT_THROW(write_safetensors(folder / "s.safetensors", {{"__metadata__", tensors["f32"]}}), UsageError);
  EXPECT_THROW(write_safetensors(folder / "no" / "s.safetensors", tensors), IoError);
}

TEST_F(SafetensorsTest, the_writer_writes_what_the_reference_reads) {
  // Bit-identical to the reference's file of the same tensors (both order tensors of the same width by name).
  const auto file = SafetensorsFile::open(golden() / "corpus" / "two.safetensors");
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, info] : file->list()) tensors[name] = file->read(name, info.shape, *device);
  write_safetensors(folder / "two.safetensors", tensors);
  EXPECT_EQ(read_file(folder / "two.safetensors"), read_file(golden() / "corpus" / "two.safetensors"));
}

TEST_F(SafetensorsTest, a_tensor_outlives_its_file_object_and_release) {
  auto file = SafetensorsFile::open(golden() / "corpus" / "two.safetensors");
  const Tensor x = file->read("b.weight", {2, 3}, *device);
  file->release("b.weight");
  EXPECT_EQ(x.to_vector(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  file.reset();
  EXPECT_EQ(x.to_vector(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST_F(SafetensorsTest, unaligned_data_is_copied_and_aligned_data_is_not) {
  const int64_t before = MemoryLedger::process().use().now;
  const auto unaligned = SafetensorsFile::open(golden() / "corpus" / "unaligned.safetensors");
  const Tensor copy = unaligned->read("a", {5}, *device);
  EXPECT_GT(MemoryLedger::process().use().now, before);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(copy.raw()) % 4, 0u);
  EXPECT_EQ(copy.to_vector(), (std::vector<float>{0, 1, 2, 3, 4}));
  const int64_t between = MemoryLedger::process().use().now;
  const auto aligned = SafetensorsFile::open(golden() / "corpus" / "two.safetensors");
  const Tensor view = aligned->read("b.weight", {2, 3}, *device);
  EXPECT_EQ(MemoryLedger::process().use().now, between);
}

TEST_F(SafetensorsTest, release_frees_pages) {
  const int64_t n = 4 << 20;
  write_safetensors(folder / "large.safetensors", {{"x", Tensor::zeros(*device, {n})}});
  const auto file = SafetensorsFile::open(folder / "large.safetensors");
  const Tensor x = file->read("x", {n}, *device);
  const auto resident = [] {  // kB of mapped files in memory
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("RssFile:")) return std::stoll(line.substr(8));
    return -1ll;
  };
  const auto before = resident();
  EXPECT_EQ(count_non_finite(x), 0);
  EXPECT_GT(resident() - before, 12 * 1024);
  file->release("x");
  EXPECT_LT(resident() - before, 4 * 1024);
}

}  // namespace
}  // namespace hearth
