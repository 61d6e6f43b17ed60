#include "weights/gguf/gguf.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/json.h"
#include "core/files/sha256.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"
#include "weights/gguf/gguf_bytes_test.h"
#include "weights/gguf/gguf_types.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::GgufBytes;
using test::message_of;

fs::path golden() { return test::folder_of(__FILE__) / "golden"; }

std::string hash_of(const std::vector<float>& values) {
  Sha256 hash;
  hash.add({reinterpret_cast<const char*>(values.data()), values.size() * 4});
  return hash.hex();
}

class GgufTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  test::TemporaryFolder folder;

  void write(const char* name, std::string_view bytes) { write_file(folder / name, bytes); }
  std::string refusal(const GgufBytes& file) {
    return message_of<Error>([&] { parse_gguf_header(file.bytes, "f"); });
  }
  // golden/expected.json: tensors as the reference reader returns them.
  void expect_tensors(GgufFile& file, const nlohmann::json& expected) {
    const auto listed = file.list();
    for (const auto& item : expected.items()) {
      SCOPED_TRACE(item.key());
      ASSERT_TRUE(file.has(item.key()));
      const TensorInfo& info = listed.at(item.key());
      EXPECT_EQ(std::vector<int64_t>(info.shape.begin(), info.shape.end()), item.value()["shape"].get<std::vector<int64_t>>());
      if (!item.value().contains("f32")) {
        EXPECT_EQ(message_of<UnsupportedError>([&] { file.read(item.key(), {}, *device); }),
                  fmt::format("{}: '{}' has the type {}, which is not supported", file.describe(), item.key(),
                              item.value()["type"].get<std::string>()));
        continue;
      }
      EXPECT_EQ(name_of(info.dtype), fmt::format("{}", name_of(*gguf_tensor_type(info.dtype)->dtype)));
      EXPECT_EQ(gguf_tensor_type(info.dtype)->name, item.value()["type"].get<std::string>());
      const Tensor x = file.read(item.key(), info.shape, *device);
      EXPECT_EQ(x.shape(), info.shape);
      EXPECT_TRUE(file.mapped(item.key()));
      EXPECT_EQ(hash_of(x.to_vector()), item.value()["f32"].get<std::string>());
    }
  }
};

TEST_F(GgufTest, tensors_are_those_of_the_reference_reader) {
  const nlohmann::json expected = load_json(golden() / "expected.json");
  for (const char* name : {"every.gguf", "aligned.gguf"}) {
    const auto file = GgufFile::open(golden() / name);
    EXPECT_EQ(file->list().size(), expected[name].size());
    expect_tensors(*file, expected[name]);
  }
  expect_tensors(*GgufFile::open(golden() / "version2.gguf"), expected["aligned.gguf"]);
}

TEST_F(GgufTest, values_have_their_types) {
  const auto file = GgufFile::open(golden() / "every.gguf");
  const GgufMetadata& m = file->metadata();
  EXPECT_EQ(m.text("general.architecture"), "llama");
  EXPECT_EQ(m.integer("v.u8"), 200);
  EXPECT_EQ(m.integer("v.i8"), -100);
  EXPECT_EQ(m.integer("v.u16"), 60000);
  EXPECT_EQ(m.integer("v.i16"), -30000);
  EXPECT_EQ(m.integer("v.u32"), 4000000000);
  EXPECT_EQ(m.integer("v.i32"), -2000000000);
  EXPECT_EQ(m.integer("v.i64"), INT64_MIN);
  EXPECT_EQ(m.number("v.f32"), double(1e-5f));
  EXPECT_EQ(m.number("v.f64"), 0.1);
  EXPECT_EQ(m.number("v.u8"), 200);
  EXPECT_TRUE(m.boolean("v.yes"));
  EXPECT_FALSE(m.boolean("v.no"));
  EXPECT_EQ(m.text("v.text"), "Ünïcode \n {%- if x -%}");
  EXPECT_EQ(m.text("v.empty"), "");
  EXPECT_EQ(m.integers("a.i32"), (std::vector<int64_t>{3, -4, 5}));
  EXPECT_EQ(m.integers("a.u8"), (std::vector<int64_t>{1, 255}));
  EXPECT_EQ(m.numbers("a.f32"), (std::vector<double>{0.5, -1.25}));
  EXPECT_EQ(m.numbers("a.i32"), (std::vector<double>{3, -4, 5}));
  EXPECT_EQ(m.find("a.bool")->describe(), "array of 3 boolean");
  using namespace std::string_view_literals;
  EXPECT_EQ(m.texts("a.text"), (std::vector<std::string_view>{"a", "", "ß\0"sv, "Ġthe"}));
  EXPECT_EQ(m.integer("none", 7), 7);
  EXPECT_EQ(m.number("none", 0.5), 0.5);
  EXPECT_EQ(m.boolean("none", true), true);
  EXPECT_EQ(m.text("none", "x"), "x");
  EXPECT_EQ(m.find("none"), nullptr);
}

TEST_F(GgufTest, a_value_of_another_type_is_named_with_both) {
  const auto file = GgufFile::open(golden() / "every.gguf");
  const auto refused = [&](auto f) { return message_of<WeightError>([&] { f(file->metadata()); }, golden()); };
  EXPECT_EQ(refused([](auto& m) { m.integer("v.text"); }),
            "FOLDER/every.gguf: 'v.text' is of type text, expected an integer of at most 63 bits");
  EXPECT_EQ(refused([](auto& m) { m.integer("v.u64"); }),
            "FOLDER/every.gguf: 'v.u64' is of type u64, expected an integer of at most 63 bits");
  EXPECT_EQ(refused([](auto& m) { m.integer("v.f32", 3); }),
            "FOLDER/every.gguf: 'v.f32' is of type f32, expected an integer of at most 63 bits");
  EXPECT_EQ(refused([](auto& m) { m.integer("v.yes"); }),
            "FOLDER/every.gguf: 'v.yes' is of type boolean, expected an integer of at most 63 bits");
  EXPECT_EQ(refused([](auto& m) { m.number("a.f32"); }), "FOLDER/every.gguf: 'a.f32' is of type array of 2 f32, expected a number");
  EXPECT_EQ(refused([](auto& m) { m.boolean("v.u8"); }), "FOLDER/every.gguf: 'v.u8' is of type u8, expected a boolean");
  EXPECT_EQ(refused([](auto& m) { m.text("a.text"); }), "FOLDER/every.gguf: 'a.text' is of type array of 4 text, expected a text");
  EXPECT_EQ(refused([](auto& m) { m.integers("a.f32"); }),
            "FOLDER/every.gguf: 'a.f32' is of type array of 2 f32, expected an array of integers of at most 63 bits");
  EXPECT_EQ(refused([](auto& m) { m.numbers("v.f32"); }), "FOLDER/every.gguf: 'v.f32' is of type f32, expected an array of numbers");
  EXPECT_EQ(refused([](auto& m) { m.texts("a.i32"); }), "FOLDER/every.gguf: 'a.i32' is of type array of 3 i32, expected an array of texts");
  EXPECT_EQ(refused([](auto& m) { m.text("none"); }), "FOLDER/every.gguf: has no 'none', expected a text");
  EXPECT_EQ(refused([](auto& m) { m.texts("none"); }), "FOLDER/every.gguf: has no 'none', expected an array of texts");
}

TEST_F(GgufTest, parts_make_one_source) {
  const nlohmann::json expected = load_json(golden() / "expected.json");
  for (int part : {1, 2, 3}) {
    const auto file = GgufFile::open(golden() / fmt::format("split-0000{}-of-00003.gguf", part));
    EXPECT_EQ(file->paths().size(), 3u);
    EXPECT_EQ(file->list().size(), expected["aligned.gguf"].size());
    EXPECT_EQ(file->metadata().integer("v.u8"), 200);  // of the first part
    expect_tensors(*file, expected["split-00002-of-00003.gguf"]);
    EXPECT_EQ(file->file_bytes(), 1024u + 448 + 352);
  }
}

TEST_F(GgufTest, parts_that_do_not_fit_are_refused) {
  const auto part = [](uint16_t no, uint16_t count, int32_t tensors, const char* name) {
    return GgufBytes(1, 3)
        .value<uint16_t>("split.no", 2, no)
        .value<uint16_t>("split.count", 2, count)
        .value<int32_t>("split.tensors.count", 5, tensors)
        .tensor(name, {2}, 0, 0)
        .data(8)
        .bytes;
  };
  const auto refused = [&](const char* name) { return message_of<IoError>([&] { GgufFile::open(folder / name); }, folder.path()); };
  write("a-00001-of-00002.gguf", part(0, 2, 2, "x"));
  EXPECT_EQ(refused("a-00001-of-00002.gguf"), "FOLDER/a-00002-of-00002.gguf: cannot be opened: No such file or directory");
  write("a-00002-of-00002.gguf", part(1, 2, 2, "x"));
  EXPECT_EQ(refused("a-00001-of-00002.gguf"), "FOLDER/a-00002-of-00002.gguf: tensor 'x' is also in another shard");
  write("a-00002-of-00002.gguf", part(1, 2, 2, "y"));
  EXPECT_EQ(refused("a-00001-of-00002.gguf"), "");
  write("a-00001-of-00002.gguf", part(0, 2, 3, "x"));
  EXPECT_EQ(refused("a-00001-of-00002.gguf"),
            "FOLDER/a-00001-of-00002.gguf: all shards together have 2 tensors, but split.tensors.count is 3");
  write("a-00002-of-00002.gguf", part(0, 2, 2, "y"));
  EXPECT_EQ(refused("a-00001-of-00002.gguf"), "FOLDER/a-00002-of-00002.gguf: is shard 1 of 2 by its metadata, but 2 of 2 by its name");
  write("other.gguf", part(0, 2, 2, "x"));
  EXPECT_EQ(refused("other.gguf"),
            "FOLDER/other.gguf: is shard 1 of 2, but its name does not end in '-00001-of-00002.gguf', so the other shards cannot be found");
  write("b-00005-of-00002.gguf", part(4, 2, 2, "x"));
  EXPECT_EQ(refused("b-00005-of-00002.gguf"), "FOLDER/b-00005-of-00002.gguf: split.no is 4, but split.count is 2");
  write("alone.gguf", part(0, 1, 1, "x"));
  EXPECT_EQ(refused("alone.gguf"), "");
}

TEST_F(GgufTest, other_files_and_versions_are_refused_by_name) {
  EXPECT_EQ(message_of<IoError>([] { parse_gguf_header("", "f"); }), "f: does not start with 'GGUF': it is not a GGUF file");
  EXPECT_EQ(message_of<IoError>([] { parse_gguf_header("GGML\3\0\0\0", "f"); }), "f: does not start with 'GGUF': it is not a GGUF file");
  EXPECT_EQ(message_of<UnsupportedError>([] { parse_gguf_header(GgufBytes(0, 0, 1).bytes, "f"); }),
            "f: is GGUF version 1, expected 2 or 3");
  EXPECT_EQ(refusal(GgufBytes(0, 0, 4)), "f: is GGUF version 4, expected 2 or 3");
  EXPECT_EQ(refusal(GgufBytes(0, 0, 0x03000000)), "f: is a big-endian GGUF file, expected a little-endian one");
  EXPECT_EQ(refusal(GgufBytes(0, 0)), "");
}

TEST_F(GgufTest, hostile_values_are_refused) {
  constexpr uint64_t huge = ~uint64_t(0);
  EXPECT_EQ(refusal(GgufBytes(huge, 0)), "f: 18446744073709551615 tensors at byte 16 need at least 24 bytes each, 8 bytes are left");
  EXPECT_EQ(refusal(GgufBytes(0, huge)),
            "f: 18446744073709551615 metadata values at byte 24 need at least 13 bytes each, 0 bytes are left");
  EXPECT_EQ(refusal(GgufBytes(0, 1).number(huge).data(16)),
            "f: a metadata key at byte 32 needs 18446744073709551615 bytes, 16 are left: the file is cut off or its header is wrong");
  EXPECT_EQ(refusal(GgufBytes(0, 1).value<uint64_t>("k", 8, huge)),
            "f: k at byte 45 needs 18446744073709551615 bytes, 0 are left: the file is cut off or its header is wrong");
  EXPECT_EQ(refusal(GgufBytes(0, 1).value<uint32_t>("k", 13, 0)), "f: 'k' has the type 13, which does not exist");
  const auto array = [](uint32_t element, uint64_t count) { return GgufBytes(0, 1).value<uint32_t>("k", 9, element).number(count); };
  EXPECT_EQ(refusal(array(6, uint64_t(1) << 62)),
            "f: 4611686018427387904 elements of 'k' at byte 49 need at least 4 bytes each, 0 bytes are left");
  EXPECT_EQ(refusal(array(8, huge / 8)), "f: 2305843009213693951 elements of 'k' at byte 49 need at least 8 bytes each, 0 bytes are left");
  EXPECT_EQ(refusal(array(9, 1)), "f: 'k' is an array of arrays, which is not supported");
  EXPECT_EQ(refusal(array(77, 1)), "f: 'k' has the type 77, which does not exist");
  EXPECT_EQ(refusal(array(8, 2).text("ok").number<uint64_t>(9)),
            "f: k at byte 67 needs 9 bytes, 0 are left: the file is cut off or its header is wrong");
  EXPECT_EQ(refusal(array(8, 0)), "");
  EXPECT_EQ(refusal(GgufBytes(0, 2).value<uint8_t>("k", 0, 1).value<uint8_t>("k", 0, 1)), "f: has the metadata key 'k' twice");
  EXPECT_EQ(refusal(GgufBytes(0, 1).value<uint8_t>(std::string(65536, 'k'), 0, 1)),
            "f: a metadata key has 65536 bytes, at most 65535 are allowed");
  for (uint32_t alignment : {0u, 24u})
    EXPECT_EQ(refusal(GgufBytes(0, 1).value<uint32_t>("general.alignment", 4, alignment)),
              fmt::format("f: general.alignment is {}, expected a power of two", alignment));
  EXPECT_EQ(refusal(GgufBytes(0, 1).value<uint32_t>("general.alignment", 6, 0)),
            "f: 'general.alignment' is of type f32, expected an integer of at most 63 bits");
}

TEST_F(GgufTest, hostile_tensors_are_refused) {
  constexpr uint64_t huge = ~uint64_t(0);
  const auto one = [&](std::initializer_list<uint64_t> sizes, uint32_t type, uint64_t offset, size_t data) {
    return refusal(GgufBytes(1, 0).tensor("x", sizes, type, offset).data(data));
  };
  EXPECT_EQ(one({4, 2}, 0, 0, 32), "");
  EXPECT_EQ(one({}, 0, 0, 4), "");
  EXPECT_EQ(one({0, huge >> 1}, 0, 0, 0), "");
  EXPECT_EQ(one({1, 1, 1, 1, 1}, 0, 0, 4), "f: tensor 'x' has 5 axes, at most 4 are allowed");
  EXPECT_EQ(one({huge}, 0, 0, 4), "f: tensor 'x' has more elements than any file can hold");
  EXPECT_EQ(one({uint64_t(1) << 40, uint64_t(1) << 40}, 0, 0, 4), "f: tensor 'x' has more elements than any file can hold");
  EXPECT_EQ(one({uint64_t(1) << 62}, 0, 0, 4), "f: tensor 'x' has more bytes than any file can hold");
  EXPECT_EQ(one({32}, 0, huge - 31, 4), "f: tensor 'x' has more bytes than any file can hold");
  EXPECT_EQ(one({100}, 12, 0, 144), "f: tensor 'x' has rows of 100 values, Q4_K needs a multiple of 256");
  EXPECT_EQ(one({}, 8, 0, 144), "f: tensor 'x' has rows of 1 values, Q8_0 needs a multiple of 32");
  EXPECT_EQ(one({8}, 0, 8, 64), "f: tensor 'x' starts at byte 8 of the data, expected a multiple of 32");
  EXPECT_EQ(one({8}, 0, 32, 60), "f: tensor 'x' is at bytes [32, 64) of 60 bytes of data: the file is cut off or its header is wrong");
  EXPECT_EQ(one({8}, 0, 0, 31), "f: tensor 'x' is at bytes [0, 32) of 31 bytes of data: the file is cut off or its header is wrong");
  EXPECT_EQ(one({8}, 31, 64, 32), "f: tensor 'x' is at bytes [64, 64) of 32 bytes of data: the file is cut off or its header is wrong");
  const auto two = [&](uint64_t second) { return refusal(GgufBytes(2, 0).tensor("x", {9}, 0, 0).tensor("y", {1}, 0, second).data(100)); };
  EXPECT_EQ(two(32), "f: tensor 'y' overlaps the one before it");
  EXPECT_EQ(two(64), "");
  EXPECT_EQ(two(96), "");  // a gap between them is allowed
  EXPECT_EQ(refusal(GgufBytes(2, 0).tensor("x", {1}, 0, 0).tensor("x", {1}, 0, 32).data(36)), "f: has the tensor 'x' twice");
}

// Every prefix of a valid file is refused, except the one that lacks only the padding after the last tensor.
TEST_F(GgufTest, a_truncated_file_is_refused) {
  const std::string whole = read_file(golden() / "every.gguf");
  uint64_t last = 0;
  for (const auto& [name, entry] : parse_gguf_header(whole, "f").tensors) last = std::max(last, entry.end);
  for (size_t n = 0; n < last; ++n) EXPECT_THROW(parse_gguf_header(std::string_view(whole).substr(0, n), "f"), Error) << n;
  EXPECT_NO_THROW(parse_gguf_header(std::string_view(whole).substr(0, last), "f"));
}

TEST_F(GgufTest, types_that_hearth_does_not_read_matter_when_they_are_used) {
  write("f.gguf", GgufBytes(3, 0).tensor("a", {256}, 34, 0).tensor("b", {256}, 31, 96).tensor("c", {1}, 999, 128).data(200).bytes);
  const auto file = GgufFile::open(folder / "f.gguf");
  const auto listed = file->list();
  EXPECT_EQ(listed.at("a").unreadable, "has the type TQ1_0, which is not supported");
  EXPECT_EQ(listed.at("b").unreadable, "has the type Q4_0_4_4, which GGUF has removed");
  EXPECT_EQ(listed.at("c").unreadable, "has the type 999, which is unknown");
  EXPECT_EQ(message_of<UnsupportedError>([&] { file->read("a", {}, *device); }, folder.path()),
            "FOLDER/f.gguf: 'a' has the type TQ1_0, which is not supported");
  EXPECT_EQ(message_of<WeightError>([&] { file->read("d", {}, *device); }, folder.path()), "FOLDER/f.gguf: has no tensor 'd'");
}

TEST_F(GgufTest, reading_copies_only_unaligned_tensors) {
  write("f.gguf",
        GgufBytes(2, 1).value<uint32_t>("general.alignment", 4, 1).tensor("x", {1}, 0, 0).tensor("abc", {32}, 39, 4).data(4 + 17, 1).bytes);
  const auto file = GgufFile::open(folder / "f.gguf");
  ASSERT_NE(file->entries(0).at("x").begin % 4, 0u);
  EXPECT_FALSE(file->mapped("x"));
  EXPECT_TRUE(file->mapped("abc"));
  EXPECT_EQ(file->read("x", {1}, *device).to_vector(), std::vector<float>{std::bit_cast<float>(0x01010101)});
}

TEST_F(GgufTest, unused_pages_are_released) {
  constexpr int64_t n = 16 << 20;
  const uint64_t bytes = bytes_of(DType::q8_0, n);  // 17.8 MB
  write("f.gguf", GgufBytes(2, 0).tensor("x", {n}, 8, 0).tensor("y", {n}, 8, bytes).data(2 * bytes).bytes);
  const auto resident = [] {  // kB of mapped files in memory
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("RssFile:")) return std::stoll(line.substr(8));
    return -1ll;
  };
  const auto file = GgufFile::open(folder / "f.gguf");
  const auto before = resident();
  const Tensor x = file->read("x", {n}, *device);
  EXPECT_EQ(count_non_finite(x) + count_non_finite(file->read("y", {n}, *device)), 0);
  EXPECT_GT(resident() - before, 30'000);
  file->release_all();  // y
  EXPECT_GT(resident() - before, 13'000);
  EXPECT_LT(resident() - before, 22'000);
  file->release("x");
  EXPECT_LT(resident() - before, 5'000);
  EXPECT_EQ(x.slice(0, 0, 32).to_vector(), std::vector<float>(32, f16_to_f32(0x0101)));  // read from the file again
}

TEST_F(GgufTest, a_modified_file_is_detected) {
  const std::string bytes = GgufBytes(1, 0).tensor("x", {1}, 0, 0).data(4).bytes;
  write("f.gguf", bytes);
  const auto file = GgufFile::open(folder / "f.gguf");
  std::ofstream(folder / "f.gguf", std::ios::binary | std::ios::app) << "more";
  EXPECT_EQ(message_of<IoError>([&] { file->read("x", {1}, *device); }, folder.path()),
            "FOLDER/f.gguf: was modified since it was opened; open the model again");
}

TEST_F(GgufTest, weights_stay_in_the_mapped_file) {
  std::vector<float> values(512);
  for (size_t i = 0; i < values.size(); ++i) values[i] = float(i % 17) - 8;
  const auto file = GgufFile::open(golden() / "every.gguf");
  Weights weights(file, *device, {.types = {.in_place = true}, .ignore = {"*"}});
  const Weight w = weights.weight("blk.Q4_0", {3, 64}, WeightKind::linear);
  EXPECT_EQ(w.form.hold, DType::q4_0);
  EXPECT_TRUE(w.form.in_place);
  EXPECT_EQ(weights.tensor("vector", {5}).to_vector(), (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(weights.report().bytes_held, 20);
  weights.weight("blk.TQ1_0", {2, 256}, WeightKind::linear);
  EXPECT_EQ(message_of<WeightError>([&] { weights.finish(); }, golden()),
            "weights: FOLDER/every.gguf: 1 unreadable: 'blk.TQ1_0' has the type TQ1_0, which is not supported");
}

// Programs for image models reshape tensors to rows of whole blocks, and state their shape; ggml drops leading axes of size 1.
TEST_F(GgufTest, tensors_have_the_shape_that_the_file_states) {
  const auto with_shape = [](std::initializer_list<int32_t> sizes) {
    GgufBytes file(2, 1);
    file.text("comfy.gguf.orig_shape.x").number<uint32_t>(9).number<uint32_t>(5).number<uint64_t>(sizes.size());
    for (const int32_t size : sizes) file.number(size);
    return file.tensor("x", {32, 3}, 8, 0).tensor("y", {3, 2}, 0, 128).data(128 + 24).bytes;
  };
  write("f.gguf", with_shape({2, 16, 3}));
  const auto file = GgufFile::open(folder / "f.gguf");
  EXPECT_EQ(file->list().at("x").shape, (Shape{2, 16, 3}));
  EXPECT_EQ(file->read("x", {}, *device).dtype(), DType::q8_0);
  EXPECT_EQ(file->read("x", {}, *device).shape(), (Shape{2, 16, 3}));
  Weights weights(file, *device);
  const Weight kernel = weights.weight("x", {2, 16, 3}, WeightKind::conv);
  EXPECT_EQ(kernel.form.hold, DType::f32);
  EXPECT_FALSE(kernel.form.in_place);
  EXPECT_EQ(weights.tensor("y", {1, 1, 2, 3}).shape(), (Shape{1, 1, 2, 3}));
  EXPECT_NO_THROW(weights.finish());
  Weights others(file, *device, {.ignore = {"x"}});
  EXPECT_FALSE(others.tensor("y", {2, 1, 3}));
  write("f.gguf", with_shape({2, 16}));
  EXPECT_EQ(message_of<IoError>([&] { GgufFile::open(folder / "f.gguf"); }, folder.path()),
            "FOLDER/f.gguf: 'comfy.gguf.orig_shape.x' is [2, 16], expected a shape of the 96 values of the tensor, [3, 32]");
}

// Rows that are not whole blocks cannot be multiplied in place.
TEST_F(GgufTest, weights_keep_whole_rows_of_blocks_and_dequantize_others) {
  GgufBytes file(2, 1);
  file.text("comfy.gguf.orig_shape.cut").number<uint32_t>(9).number<uint32_t>(5).number<uint64_t>(2).number<int32_t>(6).number<int32_t>(16);
  write("f.gguf", file.tensor("whole", {32, 3}, 8, 0).tensor("cut", {32, 3}, 8, 128).data(128 + 102).bytes);
  Weights weights(GgufFile::open(folder / "f.gguf"), *device, {.types = {.compact_factors = DType::i16}});
  for (const WeightKind kind : {WeightKind::linear, WeightKind::glu}) {
    const Weight w = weights.weight("whole", {3, 32}, kind);
    EXPECT_TRUE(w.form.in_place);
    EXPECT_EQ(w.form.factors, DType::i16);
    EXPECT_EQ(weights.weight("whole", {3, 32}, kind, true).form.factors, DType::f32);
  }
  const Weight cut = weights.weight("cut", {6, 16}, WeightKind::linear);
  EXPECT_FALSE(cut.form.in_place);
  EXPECT_EQ(cut.form.hold, DType::f32);
  EXPECT_EQ(weights.table("whole", {3, 32}).dtype(), DType::q8_0);
  EXPECT_EQ(weights.table("cut", {6, 16}).dtype(), DType::f32);
  EXPECT_EQ(weights.tensor("cut", {6, 16}).to_vector(), std::vector<float>(96, f16_to_f32(0x0101)));
  EXPECT_NO_THROW(weights.finish());
}

}  // namespace
}  // namespace hearth
