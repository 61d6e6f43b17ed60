#include "weights/packed/quantization.h"

#include <functional>

#include "core/files/file.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"
#include "weights/dequantized.h"
#include "weights/safetensors/safetensors.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::message_of;

constexpr const char* bitsandbytes = R"({"quant_method": "bitsandbytes", "_load_in_4bit": true, "load_in_4bit": true,
    "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": "bfloat16", "llm_int8_threshold": 6.0})";
constexpr const char* fp8 = R"({"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [16, 64]})";

std::string compressed(const std::string& format, const std::string& weights) {
  return R"({"quant_method": "compressed-tensors", "format": ")" + format +
         R"(", "config_groups": {"group_0": {"targets": ["Linear"], "input_activations": null, "output_activations": null, "weights": )" +
         weights + R"(}}, "ignore": ["lm_head"], "kv_cache_scheme": null, "quantization_status": "compressed"})";
}
std::string integers(int bits, const std::string& strategy) {
  return R"({"num_bits": )" + std::to_string(bits) + R"(, "type": "int", "strategy": ")" + strategy +
         R"(", "group_size": 32, "symmetric": true, "dynamic": false, "actorder": null, "observer": "minmax"})";
}
const std::string floats = R"({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [16, 64], "symmetric": true})";

struct Case {
  const char* name;
  std::string quantization;
  DType dtype;
  bool scaled = false;
};
std::vector<Case> cases() {
  return {{"nf4", bitsandbytes, DType::bf16},
          {"nf4_nested", bitsandbytes, DType::f16},
          {"nf4_words", bitsandbytes, DType::f32},
          {"fp4", bitsandbytes, DType::f32},
          {"bnb_int8", R"({"quant_method": "bitsandbytes", "_load_in_8bit": true})", DType::q8_0, true},
          {"packed_int4", compressed("pack-quantized", integers(4, "group")), DType::q4_0},
          {"packed_int4_zeros", compressed("pack-quantized", integers(4, "group")), DType::q5_0},
          {"packed_int4_bytes", compressed("pack-quantized", integers(4, "channel")), DType::q5_0},
          {"packed_int4_ordered", compressed("pack-quantized", integers(4, "group")), DType::f32},
          {"packed_int8", compressed("pack-quantized", integers(8, "group")), DType::q8_0},
          {"int8_rows", compressed("int-quantized", integers(8, "channel")), DType::q8_0, true},
          {"int8_tensor", compressed("naive-quantized", integers(8, "tensor")), DType::q8_0, true},
          {"float8_rows", compressed("float-quantized", floats), DType::f8_e4m3, true},
          {"float8_tensor", compressed("float-quantized", floats), DType::f8_e4m3, true},
          {"float8_blocks", compressed("float-quantized", floats), DType::bf16},
          {"deepseek", fp8, DType::bf16},
          {"float8_tensor", R"({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": null})", DType::f8_e4m3, true},
          {"float8_rows", R"({"quant_method": "fp8", "activation_scheme": "static"})", DType::f8_e4m3, true}};
}

fs::path golden(const std::string& name) { return test::folder_of(__FILE__) / "golden" / (name + ".safetensors"); }
Config config(const std::string& quantization) {
  return Config::parse(R"({"torch_dtype": "bfloat16", "quantization_config": )" + quantization + "}", "c");
}

class QuantizationTest : public testing::Test {
 protected:
  std::shared_ptr<TensorSource> opened(const std::string& name, const std::string& quantization) {
    return unpacked_by_config(SafetensorsFile::open(golden(name)), config(quantization), folder.path()).tensors;
  }
  // What the libraries make of the layer.
  std::vector<float> expected(const std::string& name) {
    return SafetensorsFile::open(golden(name + "_unpacked"))->read("weight", {}, *device).to_vector();
  }

  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  test::TemporaryFolder folder;
};

TEST_F(QuantizationTest, weights_have_the_bits_of_the_libraries) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto source = opened(c.name, c.quantization);
    const auto listed = source->list();
    ASSERT_EQ(listed.size(), 2u);  // the weight and a norm
    EXPECT_EQ(listed.at("layer.weight").dtype, c.dtype);
    EXPECT_EQ(listed.at("layer.weight").shape, (Shape{20, 96}));
    EXPECT_EQ(listed.at("layer.weight").scaled, c.scaled);
    EXPECT_TRUE(source->mapped("norm.weight"));
    EXPECT_EQ(source->mapped("layer.weight"), is_8bit_float(c.dtype));
    const Tensor x = source->read("layer.weight", {20, 96}, *device), scale = source->scale("layer.weight", *device);
    EXPECT_EQ(x.dtype(), c.dtype);
    EXPECT_EQ(bool(scale), c.scaled);
    EXPECT_EQ(dequantized(x, scale, *device).to_vector(), expected(c.name));
    source->release("layer.weight");
    EXPECT_EQ(source->read("layer.weight", {20, 96}, *device).dtype(), c.dtype);
  }
}

TEST_F(QuantizationTest, what_the_weights_become_is_told) {
  const auto told = [&](const std::string& name, const std::string& quantization) {
    return unpacked_by_config(SafetensorsFile::open(golden(name)), config(quantization), folder.path()).quantized;
  };
  const std::string ints = compressed("pack-quantized", integers(4, "group"));
  const std::string bytes = R"({"quant_method": "bitsandbytes", "_load_in_8bit": true})";
  const std::string tensor = R"({"quant_method": "modelopt", "quant_algo": "FP8"})";
  const QuantizedWeights nf4 = told("nf4", bitsandbytes), packed = told("packed_int4", ints), float8 = told("float8_tensor", tensor);
  EXPECT_EQ(nf4.method, "bitsandbytes");
  EXPECT_TRUE(nf4.types.at("bf16").widened);
  EXPECT_EQ(nf4.types.at("bf16").bytes, 20 * 96 * 2);
  EXPECT_EQ(nf4.unpacked_bytes, 20 * 96 * 2);
  EXPECT_FALSE(packed.types.at("q4_0").widened);
  EXPECT_EQ(packed.unpacked_bytes, 20 * 96 / 32 * 18);
  EXPECT_EQ(float8.unpacked_bytes, 0);  // multiplied where it is in the file
  EXPECT_EQ(nf4.text(), "bitsandbytes: 1 weight widened to bf16; 1.2 kB in the files, 3.8 kB in memory");
  EXPECT_EQ(packed.text(), "compressed-tensors: 1 weight as q4_0; 1.1 kB in the files, 1.1 kB in memory");
  EXPECT_EQ(told("deepseek", fp8).text(), "fp8: 1 weight widened to bf16; 1.9 kB in the files, 3.8 kB in memory");
  EXPECT_EQ(told("bnb_int8", bytes).text(), "bitsandbytes: 1 weight as q8_0; 2.0 kB in the files, 2.0 kB in memory");
  EXPECT_EQ(float8.text(), "modelopt: 1 weight as f8_e4m3; 1.9 kB in the files, 1.9 kB in memory");
  EXPECT_EQ(unpacked_by_config(SafetensorsFile::open(golden("nf4_unpacked")), Config::parse("{}", "c"), folder.path()).quantized.text(),
            "");
}

TEST_F(QuantizationTest, parts_that_do_not_fit_are_named) {
  const auto refused = [&](const std::string& name, const std::string& quantization,
                           const std::function<void(std::map<std::string, Tensor>&)>& change) {
    const auto file = SafetensorsFile::open(golden(name));
    std::map<std::string, Tensor> tensors;
    for (const auto& [tensor, info] : file->list()) tensors[tensor] = file->read(tensor, {}, *device);
    change(tensors);
    write_safetensors(folder / "f.safetensors", tensors);
    return message_of<WeightError>(
        [&] {
          unpacked_by_config(SafetensorsFile::open(folder / "f.safetensors"), config(quantization), folder.path())
              .tensors->read("layer.weight", {}, *device);
        },
        folder.path());
  };
  using Tensors = std::map<std::string, Tensor>;
  const std::string packed = compressed("pack-quantized", integers(4, "group"));
  EXPECT_EQ(refused("nf4", bitsandbytes, [](Tensors&) {}), "");
  EXPECT_EQ(refused("nf4", bitsandbytes, [](Tensors& t) { t.erase("layer.weight.absmax"); }),
            "FOLDER/f.safetensors: 'layer.weight.absmax' is missing, but 'layer.weight' exists");
  EXPECT_EQ(refused("nf4_nested", bitsandbytes, [](Tensors& t) { t["layer.weight.absmax"] = t["norm.weight"]; }),
            "FOLDER/f.safetensors: 'layer.weight.absmax' is f16 [96], expected u8 [30]");
  EXPECT_EQ(refused("nf4", bitsandbytes, [](Tensors& t) { t["layer.weight"] = t["norm.weight"]; }),
            "FOLDER/f.safetensors: 'layer.weight' is f16 [96], expected 960 bytes for 1920 values of 4 bits");
  EXPECT_EQ(refused("nf4", bitsandbytes, [](Tensors& t) { t.erase("layer.weight"); }),
            "FOLDER/f.safetensors: 'layer.weight' is missing, but 'layer.weight.quant_state.bitsandbytes__nf4' exists");
  EXPECT_EQ(refused("bnb_int8", bitsandbytes, [](Tensors& t) { t["layer.SCB"] = t["norm.weight"]; }),
            "FOLDER/f.safetensors: 'layer.SCB' is f16 [96], expected numbers [20]");
  EXPECT_EQ(refused("packed_int4", packed, [](Tensors& t) { t.erase("layer.weight_shape"); }),
            "FOLDER/f.safetensors: 'layer.weight_shape' is missing, but 'layer.weight_packed' exists");
  EXPECT_EQ(refused("packed_int4", packed, [](Tensors& t) { t.erase("layer.weight_scale"); }),
            "FOLDER/f.safetensors: 'layer.weight_scale' is missing, but 'layer.weight' is quantized");
  EXPECT_EQ(refused("packed_int4", packed, [](Tensors& t) { t["layer.weight_scale"] = t["norm.weight"]; }),
            "FOLDER/f.safetensors: 'layer.weight_scale' is [96], expected [20, G] with G a divisor of 96");
  EXPECT_EQ(refused("packed_int4_zeros", packed, [](Tensors& t) { t["layer.weight_zero_point"] = t["norm.weight"]; }),
            "FOLDER/f.safetensors: 'layer.weight_zero_point' is f16 [96], expected i8 [20, 3]");
  EXPECT_EQ(refused("packed_int4_ordered", packed,
                    [&](Tensors& t) { t["layer.weight_g_idx"] = Tensor::from(*device, {96}, std::vector<int32_t>(96, 3)); }),
            "FOLDER/f.safetensors: 'layer.weight_g_idx' has the group 3 of 3 groups");
  EXPECT_EQ(refused("int8_rows", compressed("int-quantized", integers(8, "channel")), [](Tensors& t) { t.erase("layer.weight_scale"); }),
            "FOLDER/f.safetensors: 'layer.weight_scale' is missing, but 'layer.weight' is quantized");
  EXPECT_EQ(refused("deepseek", fp8, [](Tensors& t) { t.erase("layer.weight_scale_inv"); }),
            "FOLDER/f.safetensors: 'layer.weight_scale_inv' is missing, but 'layer.weight' is f8_e4m3");
  EXPECT_EQ(refused("deepseek", fp8, [](Tensors& t) { t["layer.weight_scale_inv"] = t["norm.weight"]; }),
            "FOLDER/f.safetensors: 'layer.weight_scale_inv' is f16 [96], expected numbers [2, 2]");
  EXPECT_EQ(refused("float8_blocks", compressed("float-quantized", R"({"num_bits": 8, "type": "float"})"), [](Tensors&) {}),
            "FOLDER/f.safetensors: 'layer.weight_scale' is [2, 2], expected one value or one for each of the 20 rows");
}

TEST_F(QuantizationTest, other_methods_and_settings_are_refused_by_name) {
  const auto refused = [&](const std::string& quantization) {
    return message_of<UnsupportedError>([&] { opened("packed_int4", quantization); });
  };
  for (const char* method : {"hqq", "aqlm", "quanto", "torchao", "eetq", "higgs", "vptq", "spqr", "fbgemm_fp8", "auto-round", "bitnet"})
    EXPECT_NE(
        refused(fmt::format(R"({{"quant_method": "{}"}})", method)).find(fmt::format("'{}' is not supported, expected gptq, awq", method)),
        std::string::npos);
  EXPECT_NE(refused(compressed("nvfp4-pack-quantized", floats)).find("nvfp4-pack-quantized"), std::string::npos);
  EXPECT_NE(refused(compressed("pack-quantized", integers(3, "group"))).find("type 'int' with 3 bits are not supported"),
            std::string::npos);
  EXPECT_NE(refused(compressed("pack-quantized", R"({"num_bits": 4, "type": "float"})")).find("type 'float' with 4 bits"),
            std::string::npos);
  EXPECT_NE(refused(compressed("pack-quantized", integers(4, "tensor_group"))).find("tensor_group"), std::string::npos);
  EXPECT_NE(refused(compressed("pack-quantized", R"({"num_bits": 4, "surprise": 1})")).find("surprise"), std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "fp8", "fmt": "e5m2"})").find("e5m2"), std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "fp8", "surprise": 1})").find("surprise"), std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "bitsandbytes", "surprise": 1})").find("surprise"), std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})").find("'NVFP4' of modelopt is not supported"),
            std::string::npos);
  EXPECT_NE(message_of<WeightError>([&] {
              opened("deepseek", R"({"quant_method": "fp8", "weight_block_size": [0, 4]})");
            }).find("expected the rows and columns of a block"),
            std::string::npos);
  write_file(folder / "hf_quant_config.json", R"({"producer": {}, "quantization": {"quant_algo": "W4A16_AWQ"}})");
  EXPECT_NE(message_of<UnsupportedError>([&] {
              unpacked_by_config(SafetensorsFile::open(golden("packed_int4")), Config::parse("{}", "c"), folder.path());
            }).find("W4A16_AWQ"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth
