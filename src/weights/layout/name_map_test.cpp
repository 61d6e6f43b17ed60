// Reads and writes official tensors in their original form.
#include "weights/layout/name_map.h"

#include <numeric>

#include "core/files/file.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "weights/layout/stored_tensors.h"
#include "weights/safetensors/safetensors.h"

namespace hearth {
namespace {

using test::message_of;

constexpr std::array<NameRule, 8> rules{{
    {"linear1.weight", "to_q.weight", form::rows(0, 1, 7)},
    {"linear1.weight", "to_k.weight", form::rows(1, 2, 7)},
    {"linear1.weight", "to_v.weight", form::rows(2, 3, 7)},
    {"linear1.weight", "proj_mlp.weight", form::rows(3, 7, 7)},
    {"final.weight", "norm_out.weight", form::swapped},
    {"projection", "projection.weight", form::transposed},
    {"point.weight", "point.weight", form::kernel},
    {"norm.weight", "norm.weight"},
}};
const NameMap map{{"", "", rules}};

class NameMapTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  test::TemporaryFolder folder;

  Tensor counted(const Shape& shape, float first) {
    std::vector<float> values(size_t(shape.numel()));
    std::iota(values.begin(), values.end(), first);
    return Tensor::from(*device, shape, values);
  }
  std::shared_ptr<TensorSource> original() {
    write_safetensors(folder / "original.safetensors", {{"p.linear1.weight", counted({14, 2}, 0)},
                                                        {"p.final.weight", counted({4, 2}, 100)},
                                                        {"p.projection", counted({2, 3}, 200)},
                                                        {"p.point.weight", counted({2, 3, 1, 1}, 300)},
                                                        {"p.norm.weight", counted({3}, 400)}});
    return SafetensorsFile::open(folder / "original.safetensors");
  }
};

TEST_F(NameMapTest, each_form_is_read_as_the_official_tensor) {
  const auto file = original();
  const auto source = source_of(file, official_pieces(file->list(), "p.", map));
  const auto values = [&](const std::string& name) {
    const Tensor x = source->read(name, {}, *device);
    EXPECT_EQ(x.shape(), source->list().at(name).shape) << name;
    return x.to_vector();
  };
  EXPECT_EQ(source->list().size(), 8u);
  EXPECT_EQ(values("to_q.weight"), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(values("to_k.weight"), (std::vector<float>{4, 5, 6, 7}));
  EXPECT_EQ(values("to_v.weight"), (std::vector<float>{8, 9, 10, 11}));
  EXPECT_EQ(values("proj_mlp.weight"), counted({8, 2}, 12).to_vector());
  EXPECT_EQ(values("norm_out.weight"), (std::vector<float>{104, 105, 106, 107, 100, 101, 102, 103}));
  EXPECT_EQ(values("projection.weight"), (std::vector<float>{200, 203, 201, 204, 202, 205}));
  EXPECT_EQ(source->list().at("point.weight").shape, (Shape{2, 3}));
  EXPECT_TRUE(source->mapped("to_k.weight"));
  EXPECT_FALSE(source->mapped("norm_out.weight"));
  EXPECT_FALSE(source->mapped("projection.weight"));
}

// Parts of rows are views; what would cut a block becomes f32. Scales follow their rows.
TEST_F(NameMapTest, compact_types_keep_their_rows) {
  class Compact : public TensorSource {
   public:
    explicit Compact(Backend& device) : backend(device) {}
    std::string describe() const override { return "compact"; }
    std::map<std::string, TensorInfo> list() const override {
      return {{"linear1.weight", {.dtype = DType::q8_0, .shape = {14, 32}, .unreadable = {}}},
              {"final.weight", {.dtype = DType::f8_e4m3, .shape = {2, 3}, .unreadable = {}, .scaled = true}},
              {"projection", {.dtype = DType::q8_0, .shape = {2, 32}, .unreadable = {}}},
              {"point.weight", {.dtype = DType::q8_0, .shape = {2, 32, 1, 1}, .unreadable = {}}}};
    }
    bool has(const std::string& name) const override { return list().contains(name); }
    Tensor read(const std::string& name, const Shape&, Backend&) override {
      const TensorInfo info = list().at(name);
      Tensor x = Tensor::empty(backend, info.shape, info.dtype);
      for (size_t i = 0; i < x.bytes(); ++i) x.raw()[i] = std::byte(is_blocked(info.dtype) && i % 34 < 2 ? i % 34 * 0x3c : i / 34 + 0x38);
      return x;
    }
    Tensor scale(const std::string& name, Backend&) override {
      return name == "final.weight" ? Tensor::from(backend, {2}, std::vector<float>{2, 3}) : Tensor();
    }
    bool mapped(const std::string&) const override { return true; }
    Backend& backend;
  };
  const auto source = source_of(std::make_shared<Compact>(*device), official_pieces(Compact(*device).list(), "", map));
  const auto read = [&](const std::string& name) { return source->read(name, {}, *device); };
  EXPECT_EQ(read("to_k.weight").dtype(), DType::q8_0);
  EXPECT_EQ(read("to_k.weight").to_vector()[0], 0x3a);
  EXPECT_TRUE(source->mapped("to_k.weight"));
  EXPECT_EQ(read("projection.weight").dtype(), DType::f32);
  EXPECT_EQ(read("projection.weight").to_vector()[1], 0x39);
  EXPECT_EQ(source->list().at("projection.weight").dtype, DType::f32);
  EXPECT_FALSE(source->mapped("projection.weight"));
  EXPECT_EQ(read("point.weight").dtype(), DType::q8_0);
  EXPECT_EQ(read("point.weight").shape(), (Shape{2, 32}));
  EXPECT_EQ(read("norm_out.weight").dtype(), DType::f8_e4m3);
  EXPECT_EQ(source->scale("norm_out.weight", *device).to_vector(), (std::vector<float>{3, 2}));
  EXPECT_FALSE(source->scale("to_k.weight", *device));
}

TEST_F(NameMapTest, read_tensors_are_written_unchanged) {
  const auto file = original();
  const auto source = source_of(file, official_pieces(file->list(), "p.", map));
  std::string written;
  write_stored(stored_file(stored_tensors(source, "p.", map), {}), *device, [&](std::string_view bytes) { written += bytes; });
  write_file(folder / "again.safetensors", written);
  const auto again = SafetensorsFile::open(folder / "again.safetensors");
  ASSERT_EQ(again->list().size(), file->list().size());
  for (const auto& [name, info] : file->list()) {
    EXPECT_EQ(again->list().at(name).shape, info.shape) << name;
    EXPECT_EQ(again->read(name, info.shape, *device).to_vector(), file->read(name, info.shape, *device).to_vector()) << name;
  }
}

TEST_F(NameMapTest, a_tensor_of_another_shape_is_unreadable_by_name) {
  const auto reason = [](const char* stored, const Shape& shape, const char* official) {
    return official_pieces({{stored, {.shape = shape}}}, "", map).at(official).info.unreadable;
  };
  EXPECT_EQ(reason("linear1.weight", {15, 2}, "to_q.weight"),
            "is stored in 'linear1.weight' of shape [15, 2], expected seven times as many rows");
  EXPECT_EQ(reason("final.weight", {3}, "norm_out.weight"), "is stored in 'final.weight' of shape [3], expected two halves of rows");
  EXPECT_EQ(reason("projection", {3}, "projection.weight"), "is stored in 'projection' of shape [3], expected a matrix");
  EXPECT_EQ(reason("point.weight", {2, 3, 3, 3}, "point.weight"),
            "is stored in 'point.weight' of shape [2, 3, 3, 3], expected a 1×1 kernel or a matrix");
}

TEST_F(NameMapTest, incomplete_parts_are_not_written) {
  const auto refusal = [&](const std::map<std::string, Tensor>& tensors) {
    write_safetensors(folder / "official.safetensors", tensors);
    return message_of<UnsupportedError>([&] { stored_tensors(SafetensorsFile::open(folder / "official.safetensors"), "", map); },
                                        folder.path());
  };
  std::map<std::string, Tensor> tensors{
      {"to_q.weight", counted({2, 2}, 0)}, {"to_k.weight", counted({2, 2}, 0)}, {"proj_mlp.weight", counted({8, 2}, 0)}};
  EXPECT_EQ(refusal(tensors), "FOLDER/official.safetensors: lacks a part of 'linear1.weight'");
  tensors["to_v.weight"] = counted({3, 2}, 0);
  EXPECT_EQ(refusal(tensors),
            "FOLDER/official.safetensors: 'to_v.weight' differs in dtype or shape from the other parts of 'linear1.weight'");
}

}  // namespace
}  // namespace hearth
