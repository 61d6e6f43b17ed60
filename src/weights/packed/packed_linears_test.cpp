#include "weights/packed/packed_linears.h"

#include <algorithm>
#include <cstring>

#include "core/files/file.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"
#include "weights/language_checkpoint.h"
#include "weights/safetensors/safetensors.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::message_of;

class PackedLinearsTest : public testing::Test {
 protected:
  static fs::path golden(const std::string& name) { return test::folder_of(__FILE__) / "golden" / (name + ".safetensors"); }
  std::vector<float> expected(const std::string& name) {
    return SafetensorsFile::open(golden(name + "_unpacked"))->read("weight", {}, *device).to_vector();
  }
  std::optional<PackedFormat> format(const std::string& config) { return read_packed_format(Config::parse(config, "c"), folder.path()); }

  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  test::TemporaryFolder folder;
};

TEST_F(PackedLinearsTest, unpack_to_exactly_what_the_codes_mean) {
  struct Case {
    const char* name;
    PackedFormat format;
    DType dtype;
  };
  for (const Case& c : {Case{"gptq", {.kind = PackedFormat::Kind::gptq, .group = 32}, DType::q5_0},
                        Case{"gptq_symmetric", {.kind = PackedFormat::Kind::gptq, .group = 32, .symmetric = true}, DType::q4_0},
                        Case{"gptq_v2", {.kind = PackedFormat::Kind::gptq_v2, .group = 32}, DType::q5_0},
                        Case{"gptq_act_order", {.kind = PackedFormat::Kind::gptq, .group = 32, .act_order = true}, DType::f32},
                        Case{"awq", {.kind = PackedFormat::Kind::awq, .group = 32}, DType::q5_0}}) {
    SCOPED_TRACE(c.name);
    const auto source = unpacked(SafetensorsFile::open(golden(c.name)), c.format);
    const auto listed = source->list();
    EXPECT_EQ(listed.size(), 3u);  // bias and norm are unchanged
    EXPECT_EQ(listed.at("layer.weight").dtype, c.dtype);
    EXPECT_EQ(listed.at("layer.weight").shape, (Shape{16, 96}));
    EXPECT_EQ(listed.at("layer.bias").dtype, DType::f16);
    EXPECT_TRUE(source->has("layer.weight"));
    EXPECT_FALSE(source->mapped("layer.weight"));
    EXPECT_TRUE(source->mapped("norm.weight"));
    const Tensor w = source->read("layer.weight", {16, 96}, *device);
    EXPECT_EQ(w.dtype(), c.dtype);
    EXPECT_EQ(w.to_vector(), expected(c.name));
    source->release("layer.weight");
    EXPECT_EQ(source->read("layer.weight", {16, 96}, *device).to_vector(), expected(c.name));
  }
}

// The contents of the file decide, not the configuration.
TEST_F(PackedLinearsTest, a_lossy_type_is_not_used) {
  const auto says_symmetric = unpacked(SafetensorsFile::open(golden("gptq")), {.group = 32, .symmetric = true});
  const Tensor w = says_symmetric->read("layer.weight", {16, 96}, *device);
  EXPECT_EQ(w.dtype(), DType::q5_0);
  EXPECT_EQ(w.to_vector(), expected("gptq"));

  for (const int32_t zeros : {0x77757777, 0x77797777}) {  // one zero point of 6 or 10 among those of 8
    const auto symmetric = SafetensorsFile::open(golden("gptq_symmetric"));
    std::map<std::string, Tensor> changed;
    for (const auto& [name, info] : symmetric->list()) changed[name] = symmetric->read(name, {}, *device);
    changed["layer.qzeros"] =
        Tensor::from(*device, {3, 2}, std::vector<int32_t>{0x77777777, 0x77777777, 0x77777777, zeros, 0x77777777, 0x77777777});
    write_safetensors(folder / "z.safetensors", changed);
    const auto source = unpacked(SafetensorsFile::open(folder / "z.safetensors"), {.group = 32, .symmetric = true});
    EXPECT_EQ(source->read("layer.weight", {}, *device).dtype(), DType::q5_0);
  }

  const auto file = SafetensorsFile::open(golden("gptq"));
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, info] : file->list()) tensors[name] = file->read(name, {}, *device);
  std::vector<float> scales = tensors["layer.scales"].to_vector();
  scales[0] = 1.0f / 3;  // not representable in f16
  tensors["layer.scales"] = Tensor::from(*device, {3, 16}, scales);
  write_safetensors(folder / "f.safetensors", tensors);
  EXPECT_EQ(unpacked(SafetensorsFile::open(folder / "f.safetensors"), {.group = 32})->read("layer.weight", {}, *device).dtype(),
            DType::f32);
}

TEST_F(PackedLinearsTest, weights_take_them_in_place) {
  const auto source = unpacked(SafetensorsFile::open(golden("awq")), {.kind = PackedFormat::Kind::awq, .group = 32});
  Weights weights(source, *device, {.types = {.in_place = true}});
  EXPECT_EQ(weights.weight("layer.weight", {16, 96}, WeightKind::linear).form.hold, DType::q5_0);
  weights.tensor("layer.bias", {16});
  weights.tensor("norm.weight", {96});
  weights.finish();
}

TEST_F(PackedLinearsTest, parts_that_do_not_fit_are_named) {
  const auto refused = [&](const PackedFormat& f, auto change) {
    const auto file = SafetensorsFile::open(golden("gptq"));
    std::map<std::string, Tensor> tensors;
    for (const auto& [name, info] : file->list()) tensors[name] = file->read(name, {}, *device);
    change(tensors);
    write_safetensors(folder / "f.safetensors", tensors);
    return message_of<WeightError>([&] { unpacked(SafetensorsFile::open(folder / "f.safetensors"), f)->read("layer.weight", {}, *device); },
                                   folder.path());
  };
  const PackedFormat f{.group = 32};
  EXPECT_EQ(refused(f, [](auto&) {}), "");
  EXPECT_EQ(refused(f, [](auto& t) { t.erase("layer.qzeros"); }),
            "FOLDER/f.safetensors: 'layer.qzeros' is missing, but 'layer.qweight' exists");
  EXPECT_EQ(refused({.group = 64}, [](auto&) {}), "FOLDER/f.safetensors: 'layer.qzeros' is i32 [3, 2], expected i32 [2, 2]");
  EXPECT_EQ(refused(f, [](auto& t) { t["layer.scales"] = t["layer.qzeros"]; }),
            "FOLDER/f.safetensors: 'layer.scales' is i32 [3, 2], expected numbers [3, 16]");
  EXPECT_EQ(refused(f, [&](auto& t) { t["layer.weight"] = t["layer.bias"]; }),
            "FOLDER/f.safetensors: 'layer' is stored both packed and as 'weight'");
  EXPECT_EQ(refused({.group = 32, .act_order = true}, [](auto& t) { t.erase("layer.g_idx"); }),
            "FOLDER/f.safetensors: 'layer.g_idx' is missing, which act-order needs");
  EXPECT_EQ(refused(f, [&](auto& t) { t["layer.g_idx"] = Tensor::from(*device, {96}, std::vector<int32_t>(96, 3)); }),
            "FOLDER/f.safetensors: 'layer.g_idx' has the group 3 of 3 groups");
}

TEST_F(PackedLinearsTest, biases_of_zeros_are_named) {
  const auto file = SafetensorsFile::open(golden("gptq"));
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, info] : file->list()) tensors[name] = file->read(name, {}, *device);
  EXPECT_TRUE(zero_biases(*file).empty());
  tensors["layer.bias"] = Tensor::from(*device, {16}, std::vector<float>(16, 0.0f));
  tensors["other.bias"] = tensors["layer.bias"];  // belongs to no packed layer
  write_safetensors(folder / "model.safetensors", tensors);
  EXPECT_EQ(zero_biases(*SafetensorsFile::open(folder / "model.safetensors")), std::vector<std::string>{"layer.bias"});

  write_file(folder / "config.json",
             R"({"model_type": "llama", "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32}})");
  const auto unneeded = LanguageCheckpoint::open(folder.path()).unneeded(false);
  EXPECT_EQ(std::ranges::count(unneeded, "layer.bias"), 1);
  EXPECT_EQ(std::ranges::count(unneeded, "other.bias"), 0);
}

TEST_F(PackedLinearsTest, the_configuration_is_read_strictly) {
  EXPECT_FALSE(format("{}"));
  const auto gptq = format(R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": -1, "sym": false, "desc_act": true,
                               "checkpoint_format": "gptq_v2"}})");
  ASSERT_TRUE(gptq);
  EXPECT_EQ(gptq->kind, PackedFormat::Kind::gptq_v2);
  EXPECT_EQ(gptq->group, 0);
  EXPECT_FALSE(gptq->symmetric);
  EXPECT_TRUE(gptq->act_order);
  const auto awq =
      format(R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64, "version": "gemm", "zero_point": true}})");
  ASSERT_TRUE(awq);
  EXPECT_EQ(awq->kind, PackedFormat::Kind::awq);
  EXPECT_EQ(awq->group, 64);
  const auto further =
      format(R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "format": "gptq_v2", "data_type": "int", "iters": 200,
                                  "autoround_version": "0.5", "act_group_aware": true, "surprise": false}})");
  ASSERT_TRUE(further);
  EXPECT_EQ(further->kind, PackedFormat::Kind::gptq_v2);
  const auto exported = format(R"({"quantization_config": {"quant_method": "awq", "method": "awq", "bits": 4, "group_size": 64,
                                  "format": "gemm", "checkpoint_format": "gemm", "zero_point": false, "provider": "auto-round",
                                  "act_bits": 16}})");
  ASSERT_TRUE(exported);
  EXPECT_EQ(exported->kind, PackedFormat::Kind::awq);
  EXPECT_NE(message_of<WeightError>([&] {
              format(R"({"quantization_config": {"bits": 4, "group_size": 64}})");
            }).find("'quant_method' is missing"),
            std::string::npos);
  const auto refused = [&](const std::string& inner) {
    return message_of<UnsupportedError>([&] { format("{\"quantization_config\": " + inner + "}"); });
  };
  EXPECT_NE(refused(R"({"quant_method": "bitsandbytes", "bits": 4})").find("'bitsandbytes' is not supported"), std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "gptq", "bits": 3})").find("codes of 3 bits are not supported"), std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"})").find("marlin"), std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "awq", "bits": 4, "version": "gemv"})").find("gemv"), std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "awq", "bits": 4, "format": "gemv_fast"})").find("gemv_fast"), std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "gptq", "bits": 4, "method": "qqq"})").find("qqq"), std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "gptq", "bits": 4, "act_bits": 8})").find("act_bits"), std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "awq", "bits": 4, "backend": "llm-awq"})").find("llm-awq"), std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "gptq", "bits": 4, "checkpoint_format": "gptq", "format": "gptq_v2"})").find("'format'"),
            std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "gptq", "bits": 4, "dynamic": {"-:.*": {}}})").find("individual modules"), std::string::npos);
  EXPECT_NE(refused(R"({"quant_method": "gptq", "bits": 4, "surprise": 1})").find("surprise"), std::string::npos);
  write_file(folder / "quantize_config.json", R"({"bits": 4, "group_size": 128, "desc_act": false})");
  const auto beside = format("{}");
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->group, 128);
  EXPECT_TRUE(beside->symmetric);
}

}  // namespace
}  // namespace hearth
