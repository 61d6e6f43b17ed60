#include "weights/layout/float8.h"

#include <cmath>

#include "support/backend_test.h"
#include "support/files.h"
#include "weights/dequantized.h"
#include "weights/safetensors/safetensors.h"

namespace hearth {
namespace {

class Float8Test : public testing::Test {
 protected:
  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  test::TemporaryFolder folder;

  Tensor bytes(DType dtype, const Shape& shape, const std::vector<uint8_t>& values) {
    Tensor x = Tensor::empty(*device, shape, dtype);
    std::copy(values.begin(), values.end(), x.data<uint8_t>());
    return x;
  }
  Tensor numbers(const Shape& shape, const std::vector<float>& values) { return Tensor::from(*device, shape, values); }
  std::shared_ptr<TensorSource> opened(const std::map<std::string, Tensor>& tensors) {
    write_safetensors(folder / "f.safetensors", tensors);
    return with_float8_scales(SafetensorsFile::open(folder / "f.safetensors"));
  }
};

// Values from the definition of the formats: largest 448 and 57344, smallest 2⁻⁹ and 2⁻¹⁶.
TEST(F8, numbers_of_the_two_formats) {
  const std::pair<uint8_t, float> e4m3[] = {{0x00, 0.f},    {0x01, 0x1p-9f}, {0x07, 7 * 0x1p-9f}, {0x08, 0x1p-6f},
                                            {0x38, 1.f},    {0x3c, 1.5f},    {0x7e, 448.f},       {0xb8, -1.f},
                                            {0xfe, -448.f}, {0x40, 2.f},     {0x39, 1.125f}};
  for (const auto& [bits, value] : e4m3) EXPECT_EQ(f8_e4m3_to_f32(bits), value) << int(bits);
  EXPECT_TRUE(std::isnan(f8_e4m3_to_f32(0x7f)) && std::isnan(f8_e4m3_to_f32(0xff)));
  const std::pair<uint8_t, float> e5m2[] = {{0x01, 0x1p-16f}, {0x3c, 1.f}, {0x7b, 57344.f}, {0xbe, -1.5f}, {0x04, 0x1p-14f}};
  for (const auto& [bits, value] : e5m2) EXPECT_EQ(f8_e5m2_to_f32(bits), value) << int(bits);
  EXPECT_TRUE(std::isinf(f8_e5m2_to_f32(0x7c)));
  for (int i = 0; i < 256; ++i)  // bf16 represents all of them
    for (const float v : {f8_e4m3_to_f32(uint8_t(i)), f8_e5m2_to_f32(uint8_t(i))})
      if (!std::isnan(v)) { EXPECT_EQ(bf16_to_f32(f32_to_bf16(v)), v); }
}

TEST_F(Float8Test, plain_ones_stay_as_they_are_and_dequantize_to_bf16) {
  const auto source = opened({{"a.weight", bytes(DType::f8_e4m3, {2, 2}, {0x38, 0xb8, 0x7e, 0x01})},
                              {"b", bytes(DType::f8_e5m2, {1}, {0x3c})},
                              {"c", numbers({1}, {3})}});
  EXPECT_EQ(source->list().at("a.weight").dtype, DType::f8_e4m3);
  EXPECT_FALSE(source->list().at("a.weight").scaled);
  EXPECT_FALSE(source->scale("a.weight", *device));
  EXPECT_TRUE(source->mapped("a.weight"));
  const auto values = dequantized(source);
  EXPECT_EQ(values->list().at("a.weight").dtype, DType::bf16);
  EXPECT_EQ(values->read("a.weight", {}, *device).dtype(), DType::bf16);
  EXPECT_EQ(values->read("a.weight", {}, *device).to_vector(), (std::vector<float>{1, -1, 448, 0x1p-9f}));
  EXPECT_EQ(values->read("b", {}, *device).to_vector(), std::vector<float>{1});
  EXPECT_EQ(values->read("c", {}, *device).to_vector(), std::vector<float>{3});
  EXPECT_FALSE(values->mapped("a.weight"));
  EXPECT_TRUE(values->mapped("c"));
}

TEST_F(Float8Test, scaled_ones_are_f32_times_their_scale) {
  for (const bool early : {true, false}) {
    const std::string scale = early ? "scale_weight" : "weight_scale", input = early ? "scale_input" : "input_scale";
    const auto source = opened({{"p.scaled_fp8", bytes(DType::f8_e4m3, {0}, {})},
                                {"p.a.weight", bytes(DType::f8_e4m3, {2, 2}, {0x38, 0xb8, 0x40, 0x3c})},
                                {"p.a." + scale, numbers({}, {0.3f})},
                                {"p.a." + input, numbers({}, {1})},
                                {"p.a.bias", numbers({2}, {5, 6})},
                                {"p.b.weight", bytes(DType::f8_e4m3, {2, 2}, {0x38, 0xb8, 0x40, 0x3c})},
                                {"p.b." + scale, numbers({2, 1}, {2, 10})}});
    std::vector<std::string> names;
    for (const auto& [name, info] : source->list()) names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"p.a.bias", "p.a.weight", "p.b.weight"}));
    EXPECT_TRUE(source->list().at("p.a.weight").scaled);
    EXPECT_EQ(source->scale("p.a.weight", *device).to_vector(), std::vector<float>{0.3f});
    EXPECT_EQ(source->scale("p.b.weight", *device).to_vector(), (std::vector<float>{2, 10}));
    const auto values = dequantized(source);
    EXPECT_EQ(values->list().at("p.a.weight").dtype, DType::f32);
    EXPECT_EQ(values->read("p.a.weight", {}, *device).to_vector(), (std::vector<float>{0.3f, -0.3f, 0.6f, 1.5f * 0.3f}));
    EXPECT_EQ(values->read("p.b.weight", {}, *device).to_vector(), (std::vector<float>{2, -2, 20, 15}));
  }
}

// As they are stored, next to their values in other forms: products in place, dequantized for a convolution, as a bias and as a table.
TEST_F(Float8Test, weights_hold_them) {
  const auto source = opened({{"a.weight", bytes(DType::f8_e4m3, {2, 2}, {0x38, 0xb8, 0x40, 0x3c})},
                              {"a.scale_weight", numbers({}, {0.5f})},
                              {"a.bias", bytes(DType::f8_e4m3, {2}, {0x38, 0xb8})},
                              {"b.weight", bytes(DType::f8_e5m2, {1, 2, 1, 1}, {0x3c, 0x38})},
                              {"c.weight", bytes(DType::f8_e5m2, {2, 1}, {0x3c, 0x38})}});
  Weights w(source, *device);
  const Weight a = w.weight("a.weight", {2, 2}, WeightKind::linear), b = w.weight("b.weight", {1, 2, 1, 1}, WeightKind::conv);
  EXPECT_TRUE(a.form.in_place);
  EXPECT_EQ(a.form.hold, DType::f8_e4m3);
  EXPECT_EQ(a.scale.to_vector(), std::vector<float>{0.5f});
  EXPECT_FALSE(b.form.in_place);
  EXPECT_EQ(b.form.hold, DType::bf16);
  EXPECT_EQ(w.tensor("a.bias", {2}).to_vector(), (std::vector<float>{1, -1}));
  EXPECT_EQ(w.table("c.weight", {2, 1}).to_vector(), (std::vector<float>{1, 0.5f}));
  w.finish();
  Tensor y = Tensor::empty(*device, {1, 1, 2});
  device->linear(Tensor::from(*device, {1, 1, 2}, std::vector<float>{1, 10}), a, {}, {}, {}, y);
  EXPECT_EQ(y.to_vector(), (std::vector<float>{-4.5f, 8.5f}));
}

TEST_F(Float8Test, formats_by_name) {
  const auto with = [&](const std::string& json) {
    return opened({{"a.weight", bytes(DType::f8_e4m3, {1, 2}, {0x38, 0xb8})},
                   {"a.weight_scale", numbers({1}, {0.5f})},
                   {"a.comfy_quant", bytes(DType::u8, {int64_t(json.size())}, {json.begin(), json.end()})}});
  };
  const auto source = with(R"({"format": "float8_e4m3fn"})");
  EXPECT_EQ(source->list().size(), 1u);
  EXPECT_EQ(dequantized(source)->read("a.weight", {}, *device).to_vector(), (std::vector<float>{0.5f, -0.5f}));
  EXPECT_EQ(with(R"({"format": "mxfp8"})")->list().at("a.weight").unreadable, "is quantized as 'mxfp8', which is not supported");
  EXPECT_NE(test::message_of<IoError>([&] { with("{\"format\": "); }).find("'a.comfy_quant': invalid JSON"), std::string::npos);
}

TEST_F(Float8Test, a_scale_that_does_not_fit_is_told) {
  const auto source = opened({{"a.weight", bytes(DType::f8_e4m3, {2, 2}, {0, 0, 0, 0})},
                              {"a.scale_weight", numbers({3}, {1, 1, 1})},
                              {"b.weight", bytes(DType::f8_e4m3, {2, 2}, {0, 0, 0, 0})},
                              {"b.weight_scale_inv", numbers({1, 1}, {1})}});
  EXPECT_EQ(source->list().at("a.weight").unreadable, "has a scale of type f32 and shape [3], expected f32 [] or [2]");
  EXPECT_EQ(source->list().at("b.weight").unreadable, "is scaled by 'b.weight_scale_inv', which is not supported");
  EXPECT_THROW(source->read("a.weight", {}, *device), UnsupportedError);
}

TEST_F(Float8Test, without_any_the_source_stays_itself) {
  const auto file = [&] {
    write_safetensors(folder / "g.safetensors", {{"a", numbers({1}, {1})}});
    return SafetensorsFile::open(folder / "g.safetensors");
  }();
  EXPECT_EQ(with_float8_scales(file), file);
  EXPECT_EQ(dequantized(file), file);
}

}  // namespace
}  // namespace hearth
