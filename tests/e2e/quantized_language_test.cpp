// What opening a quantized language model says of its weights. Their values: weights/packed/quantization_test.cpp.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "language_copy.h"

namespace hearth::test {
namespace {

// The matrices of the layers as 8-bit floats, of which one scale is for a whole matrix.
int64_t quantize_to_float8(LanguageCopy& copy) {
  int64_t values = 0;
  copy.edit_tensors([&](std::map<std::string, Tensor>& tensors) {
    for (auto& [name, x] : std::map<std::string, Tensor>(tensors)) {
      if (!name.starts_with("model.layers.") || x.shape().rank() != 2) continue;
      const Tensor bytes = Tensor::empty(copy.device(), x.shape(), DType::f8_e4m3);
      std::memset(bytes.raw(), 0x18, bytes.bytes());
      tensors[name] = bytes;
      tensors[name + "_scale_inv"] = Tensor::from(copy.device(), {1, 1}, std::vector<float>{0.5f});
      values += x.numel();
    }
  });
  copy.edit_json("config.json", [](nlohmann::json& json) {
    json["dtype"] = "bfloat16";
    json["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {4096, 4096}}};
  });
  return values;
}

TEST(QuantizedLanguageModel, tells_what_its_weights_become) {
  LanguageCopy copy;
  const int64_t values = quantize_to_float8(copy);
  LanguageModel model = LanguageModel::open(copy.path());
  const QuantizedWeights& q = model.quantized();
  EXPECT_EQ(q.method, "fp8");
  EXPECT_EQ(q.stored_bytes, values + 14 * 4);
  EXPECT_EQ(q.unpacked_bytes, 2 * values);
  ASSERT_TRUE(q.types.contains("bf16"));
  EXPECT_EQ(q.types.at("bf16").weights, 14);
  EXPECT_EQ(q.text(), "fp8: 14 weights widened to bf16; 1.1 MB in the files, 2.2 MB in memory");
  const LanguageModel::Plan plan = model.plan({.prompt = "The", .max_tokens = 2});
  EXPECT_EQ(plan.unpacked_bytes, q.unpacked_bytes);
  EXPECT_EQ(plan.weight_bytes, model.weight_bytes() - q.unpacked_bytes);
  EXPECT_EQ(LanguageModel::open_demo().quantized().text(), "");
  EXPECT_EQ(LanguageModel::open_demo().plan({.prompt = "The", .max_tokens = 2}).unpacked_bytes, 0);
}

}  // namespace
}  // namespace hearth::test
