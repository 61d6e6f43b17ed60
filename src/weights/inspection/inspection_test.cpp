#include "weights/inspection/inspection.h"

#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"
#include "weights/gguf/gguf_bytes_test.h"
#include "weights/gguf/gguf_writer.h"
#include "weights/safetensors/safetensors.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::message_of;

fs::path demo_model() { return test::folder_of(__FILE__) / ".." / ".." / ".." / "assets" / "demo-model"; }

class InspectionTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  test::TemporaryFolder folder;
};

TEST_F(InspectionTest, the_demo_model) {
  const InspectedCheckpoint found = inspect_checkpoint(demo_model(), {});
  EXPECT_EQ(found.kind, "diffusers folder");
  EXPECT_EQ(found.pipeline_class, "StableDiffusionPipeline");
  std::map<std::string, int64_t> parameters;
  for (const InspectedComponent& c : found.components) {
    EXPECT_EQ(c.problem, "") << c.name;
    EXPECT_FALSE(c.config.empty() && c.name != "tokenizer") << c.name;
    if (c.tensors == 0) continue;
    parameters[c.name] = c.parameters;
    EXPECT_EQ(c.bytes, 2 * c.parameters) << c.name;
    for (const auto& [kind, types] : c.types)
      for (const auto& [type, count] : types) EXPECT_EQ(type, "f16") << c.name << " " << kind;
  }
  // The count of the reference: sum(p.numel() for p in module.parameters()).
  EXPECT_EQ(parameters, (std::map<std::string, int64_t>{{"text_encoder", 499328}, {"unet", 3402548}, {"vae", 809151}}));
  EXPECT_NE(to_text(found).find("unet: UNet2DConditionModel\n"), std::string::npos);
  EXPECT_NE(to_text(found).find("  precision    f16\n"), std::string::npos);
}

TEST_F(InspectionTest, precision_is_reported_per_class_of_tensor) {
  const std::vector<float> values(8);
  write_safetensors(folder / "x.safetensors",
                    {{"a.weight", Tensor::from(*device, {2, 4}, values, DType::f16)},
                     {"a.bias", Tensor::from(*device, {8}, values, DType::f16)},
                     {"conv.weight", Tensor::from(*device, {2, 2, 2, 1}, values, DType::bf16)},
                     {"norm.weight", Tensor::from(*device, {8}, values)},
                     {"norm.bias", Tensor::from(*device, {8}, values, DType::f16)},
                     {"token_embedding.weight", Tensor::from(*device, {4, 2}, values)},
                     {"alpha", Tensor::from(*device, {8}, values)}},
                    {{"format", "pt"}});
  const InspectedCheckpoint found = inspect_checkpoint(folder / "x.safetensors", {});
  EXPECT_EQ(found.kind, "safetensors file");
  ASSERT_EQ(found.components.size(), 1u);
  EXPECT_EQ(found.components[0].parameters, 56);
  EXPECT_EQ(found.components[0].bytes, 32 * 2 + 24 * 4);
  EXPECT_NE(to_text(found).find("biases f16, embeddings f32, kernels bf16, matrices f16, norms f16 and f32, others f32"), std::string::npos)
      << to_text(found);
  const auto json = to_json(found);
  EXPECT_EQ(json["components"][0]["types"]["norms"],
            (nlohmann::ordered_json{{"f16", {{"tensors", 1}, {"parameters", 8}}}, {"f32", {{"tensors", 1}, {"parameters", 8}}}}));
  EXPECT_EQ(json["components"][0]["metadata"]["format"], "pt");
  EXPECT_EQ(json["components"][0]["files"][0]["bytes"], int64_t(fs::file_size(folder / "x.safetensors")));
}

// A language model's folder: what its quantized weights become, or why they cannot be used.
TEST_F(InspectionTest, a_quantized_folder) {
  const auto with_method = [&](const std::string& method) {
    write_file(folder / "m" / "config.json",
               R"({"model_type": "llama", "torch_dtype": "bfloat16", "quantization_config": {"quant_method": ")" + method + R"("}})");
    return inspect_checkpoint(folder / "m", {});
  };
  fs::create_directories(folder / "m");
  fs::copy_file(test::folder_of(__FILE__) / ".." / "packed" / "golden" / "nf4.safetensors", folder / "m" / "model.safetensors");
  const InspectedCheckpoint found = with_method("bitsandbytes");
  EXPECT_EQ(found.components[0].problem, "");
  EXPECT_NE(to_text(found).find("  quantized    bitsandbytes: 1 weight widened to bf16; "), std::string::npos) << to_text(found);
  const auto json = to_json(found)["components"][0]["quantized"];
  EXPECT_EQ(json["method"], "bitsandbytes");
  EXPECT_EQ(json["types"]["bf16"], (nlohmann::ordered_json{{"weights", 1}, {"bytes", 3840}, {"widened", true}}));
  EXPECT_EQ(json["unpacked_bytes"], 3840);
  EXPECT_NE(with_method("hqq").components[0].problem.find("'hqq' is not supported"), std::string::npos);
}

TEST_F(InspectionTest, a_component_folder) {
  const InspectedCheckpoint found = inspect_checkpoint(demo_model() / "unet", {});
  EXPECT_EQ(found.kind, "component folder");
  EXPECT_EQ(found.components.at(0).name, "unet");
  EXPECT_EQ(found.components.at(0).class_name, "UNet2DConditionModel");
  EXPECT_EQ(to_json(found)["components"][0]["config"]["block_out_channels"], (nlohmann::ordered_json{48, 80, 112}));
  EXPECT_EQ(inspect_checkpoint(demo_model() / "text_encoder", {}).components.at(0).class_name, "CLIPTextModel");
}

TEST_F(InspectionTest, one_broken_component_does_not_hide_the_others) {
  fs::copy(demo_model(), folder / "m", fs::copy_options::recursive);
  fs::permissions(folder / "m" / "vae" / "diffusion_pytorch_model.safetensors", fs::perms::owner_write, fs::perm_options::add);
  fs::resize_file(folder / "m" / "vae" / "diffusion_pytorch_model.safetensors", 1000);
  fs::remove_all(folder / "m" / "text_encoder");
  const InspectedCheckpoint found = inspect_checkpoint(folder / "m", {});
  std::map<std::string, std::string> problems;
  for (const InspectedComponent& c : found.components) problems[c.name] = c.problem;
  EXPECT_NE(problems["vae"].find("the file is cut off"), std::string::npos);
  EXPECT_NE(problems["text_encoder"].find("no such folder, but model_index.json lists"), std::string::npos);
  EXPECT_EQ(problems["unet"], "");
}

TEST_F(InspectionTest, variants_are_listed_and_chosen) {
  for (const char* file : {"diffusion_pytorch_model.safetensors", "diffusion_pytorch_model.fp16.safetensors"})
    write_safetensors(folder / file, {{"a", Tensor::zeros(*device, {2}, file[23] == '.' && file[24] == 'f' ? DType::f16 : DType::f32)}});
  const InspectedComponent full = inspect_checkpoint(folder.path(), {}).components.at(0),
                           half = inspect_checkpoint(folder.path(), {}, "fp16").components.at(0);
  EXPECT_EQ(full.variants, (std::vector<std::string>{"", "fp16"}));
  EXPECT_EQ(full.bytes, 8);
  EXPECT_EQ(half.bytes, 4);
  EXPECT_EQ(half.files.at(0).name, "diffusion_pytorch_model.fp16.safetensors");
}

TEST_F(InspectionTest, a_gguf_file) {
  const fs::path every = test::folder_of(__FILE__) / ".." / "gguf" / "golden" / "every.gguf";
  const InspectedCheckpoint found = inspect_checkpoint(every, {});
  EXPECT_EQ(found.kind, "GGUF file");
  const InspectedComponent& c = found.components.at(0);
  EXPECT_EQ(c.name, "every.gguf");
  EXPECT_EQ(c.class_name, "llama");
  EXPECT_EQ(c.tensors, 25);
  EXPECT_EQ(c.types.at("matrices").at("q4_k").parameters, 512);
  EXPECT_EQ(c.unreadable, std::vector<std::string>{"'blk.TQ1_0' has the type TQ1_0, which is not supported"});
  EXPECT_EQ(c.metadata.at("v.f32"), "1e-05");
  EXPECT_EQ(c.metadata.at("v.i64"), "-9223372036854775808");
  EXPECT_EQ(c.metadata.at("v.u64"), "18446744073709551615");
  EXPECT_EQ(c.metadata.at("v.text"), "Ünïcode \n {%- if x -%}");
  EXPECT_EQ(c.metadata.at("a.i32"), "array of 3 i32");
  EXPECT_EQ(to_json(found)["components"][0]["metadata"]["v.yes"], "true");

  const std::string bytes = test::GgufBytes(2, 6)
                                .value<uint64_t>("general.architecture", 8, 5)
                                .raw("qwen2")
                                .value<uint64_t>("general.name", 8, 4)
                                .raw("Tiny")
                                .value<uint32_t>("qwen2.block_count", 4, 7)
                                .value<uint64_t>("tokenizer.ggml.model", 8, 4)
                                .raw("gpt2")
                                .value<uint64_t>("tokenizer.ggml.pre", 8, 5)
                                .raw("qwen2")
                                .value<uint32_t>("tokenizer.ggml.tokens", 9, 8)
                                .number<uint64_t>(2)
                                .text("a")
                                .text("b")
                                .tensor("token_embd.weight", {32, 2}, 8, 0)
                                .tensor("output_norm.weight", {4}, 0, 96)
                                .data(112)
                                .bytes;
  write_file(folder / "x.bin", bytes);
  const InspectedCheckpoint tiny = inspect_checkpoint(folder / "x.bin", {});
  EXPECT_EQ(to_text(tiny),
            "GGUF file\nTiny: qwen2\n  size         68 parameters in 2 tensors, 84 B\n  precision    embeddings q8_0, norms f32\n"
            "  files        x.bin (" +
                std::to_string(bytes.size()) + " B)\n  tokenizer    gpt2 (qwen2), 2 tokens\n  config       block_count 7\n");
  EXPECT_EQ(to_json(tiny)["components"][0]["tokenizer"], "gpt2 (qwen2), 2 tokens");
}

TEST_F(InspectionTest, a_network_in_a_gguf_file) {
  GgufValues values;
  values.text("general.architecture", "t5encoder");
  std::vector<GgufTensor> tensors;
  for (const char* name : {"enc.blk.0.attn_q.weight", "enc.blk.0.attn_rel_b.weight", "enc.output_norm.weight"})
    tensors.push_back({name, DType::f32, {1}});
  write_gguf(folder / "x.gguf", values, tensors, [](size_t, const WriteBytes& write) {
    const float one = 1;
    write(std::as_bytes(std::span(&one, 1)));
  });
  const InspectedCheckpoint found = inspect_checkpoint(folder / "x.gguf", {});
  ASSERT_EQ(found.components.at(0).recognized.size(), 1u);
  EXPECT_EQ(found.components[0].recognized[0].what, "T5 encoder");
  EXPECT_NE(to_text(found).find("holds        T5 encoder (gguf tensor names)"), std::string::npos) << to_text(found);
}

TEST_F(InspectionTest, a_pytorch_checkpoint) {
  const fs::path corpus = test::folder_of(__FILE__) / ".." / "torch" / "golden";
  const InspectedCheckpoint ckpt = inspect_checkpoint(corpus / "lightning.ckpt", {});
  EXPECT_EQ(to_text(ckpt),
            fmt::format("PyTorch checkpoint\nlightning.ckpt\n  holds        no network that hearth recognizes\n"
                        "  size         31 parameters in 7 tensors, 128 B\n"
                        "  precision    matrices f32, norms f32 and i64\n  files        lightning.ckpt ({:.1f} kB)\n"
                        "  layout       zip\n  ignored      'callbacks' is a dict of 1, 'epoch' is the integer 3, 'global_step' is "
                        "the integer 12345678901, 'hyper_parameters' is a call of a_config.Settings, 'large' is a large integer, "
                        "'nothing' is None, 'optimizer_states' is a list of 1, 'place' is a call of pathlib.PurePosixPath, 'score' is "
                        "a call of numpy.core.multiarray.scalar, 'version' is the text '1.9.0'\n",
                        double(fs::file_size(corpus / "lightning.ckpt")) / 1e3));
  const auto json = to_json(inspect_checkpoint(corpus / "unreadable.pt", {}))["components"][0];
  EXPECT_EQ(json["layout"], "zip");
  EXPECT_EQ(json["tensors"], 9);
  EXPECT_EQ(json["unreadable"].size(), 8u);
  EXPECT_EQ(json["ignored"].size(), 0u);
  EXPECT_EQ(inspect_checkpoint(corpus / "legacy_2.pt", {}).components[0].layout, "legacy");
}

TEST_F(InspectionTest, other_files_are_refused) {
  const auto io = [&](const fs::path& path) { return message_of<IoError>([&] { inspect_checkpoint(path, {}); }, folder.path()); };
  EXPECT_EQ(io(folder / "none"), "FOLDER/none: no such file or folder");
  EXPECT_EQ(io(folder.path()), "FOLDER: the folder is empty, expected a diffusers folder with model_index.json");
  write_file(folder / "x.safetensors", "not one");
  EXPECT_EQ(io(folder / "x.safetensors"), "FOLDER/x.safetensors: 7 bytes are too few for a safetensors file");
  write_file(folder / "x.onnx", "x");
  EXPECT_EQ(message_of<UnsupportedError>([&] { inspect_checkpoint(folder / "x.onnx", {}); }, folder.path()),
            "FOLDER/x.onnx: files of this kind cannot be read, expected safetensors, GGUF or a PyTorch checkpoint");
  write_file(folder / "x.ckpt", "not one");
  EXPECT_NE(io(folder / "x.ckpt").find("FOLDER/x.ckpt: the pickle's instruction at byte 0"), std::string::npos);
  for (const char* file : {"x.safetensors", "x.onnx", "x.ckpt"}) fs::remove(folder / file);
  write_file(folder / "readme.txt", "x");
  EXPECT_EQ(io(folder.path()),
            "FOLDER: has no weights, expected model.safetensors, diffusion_pytorch_model.safetensors, pytorch_model.bin or "
            "diffusion_pytorch_model.bin");
}

}  // namespace
}  // namespace hearth
