#include "weights/gguf/gguf_writer.h"

#include "core/files/file.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"
#include "weights/gguf/gguf.h"

namespace hearth {
namespace {

using test::message_of;

class GgufWriterTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  test::TemporaryFolder folder;
};

// Reads a file of the reference writer and writes it again: the values and the bytes of every tensor are the same.
TEST_F(GgufWriterTest, a_file_comes_back) {
  const auto from = GgufFile::open(test::folder_of(__FILE__) / "golden" / "every.gguf");
  GgufValues values;
  for (const auto& [key, value] : from->metadata().values()) values.copy(key, value);
  std::vector<GgufTensor> tensors;
  for (const auto& [name, info] : from->list())
    if (info.unreadable.empty()) tensors.push_back({name, info.dtype, info.shape});
  write_gguf(folder / "f.gguf", values, tensors, [&](size_t i, const WriteBytes& write) {
    const Tensor x = from->read(tensors[i].name, tensors[i].shape, *device);
    write({x.raw(), 2});
    write({x.raw() + 2, x.bytes() - 2});
  });
  const auto to = GgufFile::open(folder / "f.gguf");
  EXPECT_EQ(to->file_bytes() % 32, 0u);
  ASSERT_EQ(to->list().size(), tensors.size());
  for (const GgufTensor& t : tensors) {
    const Tensor a = from->read(t.name, t.shape, *device), b = to->read(t.name, t.shape, *device);
    EXPECT_EQ(a.dtype(), b.dtype());
    EXPECT_EQ(a.shape(), b.shape());
    EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0) << t.name;
  }
  ASSERT_EQ(to->metadata().values().size(), from->metadata().values().size());
  for (const auto& [key, value] : from->metadata().values()) {
    EXPECT_EQ(to->metadata().find(key)->describe(), value.describe());
    EXPECT_EQ(to->metadata().find(key)->bytes, value.bytes) << key;
  }
}

TEST_F(GgufWriterTest, values_have_the_requested_types) {
  GgufValues values;
  values.integer("u32", 4000000000);
  values.integer("i8", -128, GgufType::i8);
  values.integer("u64", INT64_MAX, GgufType::u64);
  values.f32("f32", 1e-5f);
  values.boolean("bool", true);
  values.text("text", "ü\n");
  values.texts("texts", std::vector<std::string>{"a", "", "c d"});
  values.i32s("i32s", std::vector<int32_t>{1, -2});
  values.f32s("f32s", std::vector<float>{0.5f});
  EXPECT_EQ(message_of<UsageError>([&] { values.integer("x", -1); }), "gguf: 'x' = -1 does not fit into u32");
  EXPECT_EQ(message_of<UsageError>([&] { values.integer("x", -1, GgufType::u64); }), "gguf: 'x' = -1 does not fit into u64");
  EXPECT_EQ(message_of<UsageError>([&] { values.integer("x", 128, GgufType::i8); }), "gguf: 'x' = 128 does not fit into i8");
  EXPECT_EQ(message_of<UsageError>([&] { values.integer("x", 1, GgufType::f32); }), "gguf: 'x' cannot be written as f32");
  EXPECT_EQ(message_of<UsageError>([&] { values.text("f32", "again"); }), "gguf: the key 'f32' is written twice");
  write_gguf(folder / "f.gguf", values, {}, [](size_t, const WriteBytes&) {});
  const auto file = GgufFile::open(folder / "f.gguf");
  const GgufMetadata& m = file->metadata();
  EXPECT_EQ(m.values().size(), 9u);
  EXPECT_EQ(m.integer("u32"), 4000000000);
  EXPECT_EQ(m.integer("i8"), -128);
  EXPECT_EQ(m.find("u64")->type, GgufType::u64);
  EXPECT_EQ(m.integer("u64"), INT64_MAX);
  EXPECT_EQ(m.number("f32"), double(1e-5f));
  EXPECT_TRUE(m.boolean("bool"));
  EXPECT_EQ(m.text("text"), "ü\n");
  EXPECT_EQ(m.texts("texts"), (std::vector<std::string_view>{"a", "", "c d"}));
  EXPECT_EQ(m.integers("i32s"), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(m.numbers("f32s"), std::vector<double>{0.5});
}

TEST_F(GgufWriterTest, nothing_is_left_behind_when_it_fails) {
  const std::vector<GgufTensor> one{{"x", DType::f32, {3}}};
  const std::vector<std::byte> bytes(8);
  EXPECT_EQ(message_of<UsageError>([&] { write_gguf(folder / "f.gguf", {}, one, [&](size_t, const WriteBytes& write) { write(bytes); }); }),
            "gguf: 'x' got 8 bytes, expected 12");
  const std::vector<GgufTensor> unknown{{"x", DType::u8, {3}}};
  EXPECT_EQ(message_of<UnsupportedError>([&] { write_gguf(folder / "f.gguf", {}, unknown, [](size_t, const WriteBytes&) {}); }),
            "gguf: 'x' has the type u8, which GGUF does not support");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace hearth
