// Image models whose weights are block types or 8-bit floats: written by hearth quantize, read by the reference (golden/make_formats.py),
// and run as stored.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "core/files/json.h"
#include "core/files/sha256.h"
#include "core/quantized/blocks.h"
#include "core/threads.h"
#include "e2e/editing_cases_test.h"
#include "hearth/convert.h"
#include "hearth/quantize.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "support/golden.h"
#include "support/tolerance.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_writer.h"
#include "weights/seeded_file.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct StoredTypes : testing::Test, EditingCases {
  StoredTypes() : EditingCases("flux") {}

  const TemporaryFolder folder;
  const Json& example = cases.at("default");
  const fs::path checkpoint = folder_of(example);

  QuantizeReport quantize(const fs::path& model, const std::string& out, const std::string& type, const std::string& component = {},
                          std::vector<std::string> rules = {}) const {
    return hearth::quantize(
        {.model = model, .output = folder / out, .type = type, .rules = std::move(rules), .component = component, .threads = 2});
  }
  std::vector<float> latents(const OpenOptions& options) const { return latents_of(checkpoint, options); }
  std::vector<float> latents_of(const fs::path& path, const OpenOptions& options) const {
    return Model::open(path, options).generate(request_of(example)).latents.values;
  }
  // With another transformer or text encoder.
  OpenOptions with(const std::string& component, const fs::path& path, Precision precision = Precision::f32) const {
    OpenOptions options{.precision = precision};
    options.components[component] = {path};
    return options;
  }
};

// The same bytes as those that the reference reader dequantized: golden/make_formats.py.
TEST_F(StoredTypes, files_are_those_that_the_reference_reads) {
  const Json golden = load_json(golden_folder() / "formats.json");
  std::map<std::string, Shape> tensors;
  for (const auto& [name, sizes] : golden.at("network").items())
    for (const int64_t size : sizes) tensors[name].push_back(size);
  ThreadPool threads(2);
  write_seeded_file(folder / "network.safetensors", tensors, DType::f32, threads);
  for (const auto& [type, recorded] : golden.at("files").items()) {
    const QuantizeReport report = quantize(folder / "network.safetensors", type + ".gguf", type);
    const fs::path written = folder / (type + ".gguf");
    EXPECT_EQ(sha256_of_files({&written, 1}), recorded.at("sha256")) << type;
    EXPECT_EQ(Json(report.types), recorded.at("types")) << type;
    EXPECT_EQ(report.architecture, "flux");
  }
}

// Latents of diffusers with what the reference reader dequantized. Observed: 2.6e-6 in f32, 1.4e-5 with i16 factors.
TEST_F(StoredTypes, latents_are_those_of_the_dequantized_weights) {
  Golden golden(__FILE__, "formats", *device);
  quantize(checkpoint, "q8_0.gguf", "q8_0");
  quantize(checkpoint, "q4_0.gguf", "q4_0");
  quantize(checkpoint, "mxfp4.gguf", "mxfp4", "transformer", {"*_mlp.*=q5_1"});
  quantize(checkpoint, "t5.gguf", "q8_0", "text_encoder_2");
  add_detached_backend();
  for (const std::string backend : {"reference", "detached", "avx2", "avx512"}) {
    const bool path = backend.starts_with("avx");
    if (path && !cpu_path_available(backend)) continue;
    if (path) ::setenv("HEARTH_CPU", backend.c_str(), 1);
    for (const Precision precision : {Precision::f32, Precision::automatic})
      for (const char* name : {"q8_0", "q4_0", "mxfp4", "t5_q8_0"}) {
        const bool text = std::string_view(name).starts_with("t5");
        OpenOptions options =
            with(text ? "text_encoder_2" : "transformer", folder / (text ? "t5.gguf" : std::string(name) + ".gguf"), precision);
        options.device = path ? "cpu" : backend;
        const double error = relative_error(latents(options), golden.values(name));
        if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s %s %d: %.1e\n", backend.c_str(), name, int(precision), error);
        EXPECT_LE(error, precision == Precision::f32 ? 2e-5 : 1e-4) << backend << " " << name << " " << int(precision);
      }
    ::unsetenv("HEARTH_CPU");
  }
}

// Run as stored against converted first: only the order of sums differs. Observed: 1.7e-7.
TEST_F(StoredTypes, products_as_stored_equal_products_of_dequantized_weights) {
  for (const char* type : {"q8_0", "q5_1", "q4_1", "iq4_nl", "f16", "bf16"}) {
    quantize(checkpoint, "transformer.gguf", type);
    const fs::path converted = folder / (std::string(type) + "-folder");
    convert({.model = checkpoint, .components = {{"transformer", folder / "transformer.gguf"}}, .output = converted, .type = "f32"});
    const double error =
        relative_error(latents(with("transformer", folder / "transformer.gguf")), latents_of(converted, {.precision = Precision::f32}));
    if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s: %.1e\n", type, error);
    EXPECT_LE(error, 1.5e-6) << type;
  }
}

// The nearest e4m3 to each value of a matrix, with one scale, with one for each row, and without.
NamedTensors in_float8(const NamedTensors& tensors, Backend& backend, const std::string& scales) {
  std::array<float, 128> positive{};
  for (size_t i = 0; i < 127; ++i) positive[i] = f8_e4m3_to_f32(uint8_t(i));
  NamedTensors all;
  for (const auto& [name, x] : tensors) {
    if (x.rank() != 2 || !name.ends_with("weight")) {
      all[name] = x;
      continue;
    }
    const std::vector<float> values = x.to_vector();
    const int64_t rows = scales == "rows" ? x.size(0) : 1, row = x.numel() / rows;
    std::vector<float> scale(size_t(rows), 1.0f);
    if (!scales.empty())
      for (size_t i = 0; i < values.size(); ++i)
        scale[i / size_t(row)] = std::max(scale[i / size_t(row)] == 1 ? 0 : scale[i / size_t(row)], std::abs(values[i]) / 448);
    Tensor bits = Tensor::empty(backend, x.shape(), DType::f8_e4m3);
    for (size_t i = 0; i < values.size(); ++i) {
      const float v = std::abs(values[i]) / scale[i / size_t(row)];
      const auto above = std::lower_bound(positive.begin(), positive.begin() + 126, v);
      size_t at = size_t(above - positive.begin());
      if (at > 0 && v - positive[at - 1] < positive[at] - v) --at;
      bits.raw()[i] = std::byte(at | (values[i] < 0 ? 0x80 : 0));
    }
    all[name] = bits;
    if (!scales.empty()) all[name.substr(0, name.size() - 6) + "scale_weight"] = Tensor::from(backend, {rows}, scale);
  }
  if (!scales.empty()) all["scaled_fp8"] = Tensor::empty(backend, {0}, DType::f8_e4m3);
  return all;
}

// Dequantized first, then run, in each form that files have. Observed: 2.4e-7 without a scale, 4.1e-7 with one.
TEST_F(StoredTypes, float8_as_stored_equals_dequantized_weights) {
  NamedTensors tensors;
  const auto source = SafetensorsFile::open(checkpoint / "transformer/diffusion_pytorch_model.safetensors");
  for (const auto& [name, info] : source->list()) tensors[name] = source->read(name, info.shape, *device);
  for (const std::string scales : {"", "one", "rows"}) {
    write_safetensors(folder / "f8.safetensors", in_float8(tensors, *device, scales));
    const fs::path converted = folder / ("f8-folder" + scales);
    convert({.model = checkpoint, .components = {{"transformer", folder / "f8.safetensors"}}, .output = converted, .type = "f32"});
    for (const Precision precision : {Precision::f32, Precision::automatic}) {
      const OpenOptions stored = with("transformer", folder / "f8.safetensors", precision);
      // Where bf16 is fastest, weights of few bits are rounded to it and those of f32 are not.
      if (precision == Precision::automatic && make_backend({})->prefers_bf16()) continue;
      const double error = relative_error(latents(stored), latents_of(converted, {.precision = precision}));
      if (std::getenv("HEARTH_PRINT_ERRORS")) printf("scales '%s': %.1e\n", scales.c_str(), error);
      EXPECT_LE(error, 4e-6) << scales;
    }
    const Model model = Model::open(checkpoint, with("transformer", folder / "f8.safetensors"));
    EXPECT_NE(model.description().find("f8_e4m3"), std::string::npos) << model.description();
  }
}

// All networks in one file, with prefixes; and each alone: the same bits.
TEST_F(StoredTypes, a_whole_checkpoint_in_one_file) {
  const fs::path configs = folder / "configs";
  fs::copy(checkpoint, configs, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(configs)) {
    fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
    if (entry.path().extension() == ".safetensors") fs::remove(entry);
  }
  const QuantizeReport report = quantize(checkpoint, "all.gguf", "q8_0", "all");
  EXPECT_EQ(report.architecture, "");
  const auto all = GgufFile::open(folder / "all.gguf");
  EXPECT_TRUE(all->has("model.diffusion_model.double_blocks.0.img_attn.qkv.weight"));
  EXPECT_TRUE(all->has("text_encoders.t5xxl.transformer.encoder.block.0.layer.0.SelfAttention.q.weight"));
  EXPECT_TRUE(all->has("vae.decoder.conv_in.weight"));
  OpenOptions apart{.precision = Precision::f32};
  for (const char* component : {"transformer", "text_encoder", "text_encoder_2", "vae"}) {
    quantize(checkpoint, std::string(component) + ".gguf", "q8_0", component);
    apart.components[component] = {.path = folder / (std::string(component) + ".gguf")};
  }
  OpenOptions with_configs{.precision = Precision::f32};
  with_configs.config = configs;
  const std::vector<float> whole = latents_of(folder / "all.gguf", with_configs);
  EXPECT_EQ(whole, latents(apart));
  // The transformer as the model, the others given.
  OpenOptions others = apart;
  others.components.erase("transformer");
  others.config = configs;
  EXPECT_EQ(latents_of(folder / "transformer.gguf", others), whole);
  EXPECT_EQ(
      complaint_of([&] { Model::open(folder / "transformer.gguf", {.config = configs}); }),
      "WeightError: " + (folder / "transformer.gguf").string() + ": holds no text encoder, only transformer: give one with --text-encoder");
}

// Kernels and rows that are not whole blocks, in files that reshaped them.
TEST_F(StoredTypes, a_unet_whose_file_has_reshaped_tensors) {
  const fs::path unet = checkpoint_folder("pndm");
  quantize(unet, "unet.gguf", "f32");
  const auto plain = GgufFile::open(folder / "unet.gguf");
  EXPECT_EQ(plain->architecture(), "sd1");
  GgufValues values;
  values.text("general.architecture", "sd1");
  std::vector<GgufTensor> tensors;
  for (const auto& [name, info] : plain->list()) {
    const int64_t count = info.shape.numel();
    const bool reshaped = info.shape.rank() > 1 && count % 32 == 0 && count >= 512 && name.find("emb") == name.npos;
    tensors.push_back({name, reshaped ? DType::q8_0 : DType::f32, reshaped ? Shape{count / 32, 32} : info.shape});
    std::vector<int32_t> sizes(info.shape.begin(), info.shape.end());
    if (reshaped) values.i32s("comfy.gguf.orig_shape." + name, sizes);
  }
  const fs::path reshaped_file = folder / "reshaped.gguf";
  write_gguf(reshaped_file, values, tensors, [&](size_t i, const WriteBytes& write) {
    const Tensor x = plain->read(tensors[i].name, {}, *device);
    std::vector<std::byte> bytes(bytes_of(tensors[i].dtype, x.numel()));
    if (tensors[i].dtype == DType::f32) std::memcpy(bytes.data(), x.raw(), bytes.size());
    else encode_blocks(DType::q8_0, x.data<float>(), x.numel(), bytes.data());
    write(bytes);
  });
  const fs::path converted = folder / "unet-folder";
  convert({.model = unet, .components = {{"unet", reshaped_file}}, .output = converted, .type = "f32"});
  const Request request{.prompt = "a cat", .width = 32, .height = 32, .steps = 3, .seed = 5};
  const auto run = [&](const fs::path& path, const OpenOptions& options) {
    return Model::open(path, options).generate(request).latents.values;
  };
  const std::vector<float> wanted = run(converted, {.precision = Precision::f32});
  const double error = relative_error(run(unet, with("unet", reshaped_file)), wanted);
  if (std::getenv("HEARTH_PRINT_ERRORS")) printf("reshaped: %.1e\n", error);
  EXPECT_LE(error, 1.5e-5);  // observed 1.7e-6
  EXPECT_GT(relative_error(run(unet, {.precision = Precision::f32}), wanted), 1e-4);
}

TEST_F(StoredTypes, rules_and_mixtures) {
  const QuantizeReport plain = quantize(checkpoint, "a.gguf", "q8_0");
  const QuantizeReport ruled =
      quantize(checkpoint, "b.gguf", "q8_0", "", {"single_blocks.1.*=f16", "*.linear1.weight=q5_0", "single_blocks.*=q4_0"});
  const auto type_of = [&](const char* of, const std::string& name) { return GgufFile::open(folder / of)->list().at(name).dtype; };
  EXPECT_EQ(plain.types.at("q8_0"), 22);
  EXPECT_EQ(type_of("b.gguf", "single_blocks.1.linear1.weight"), DType::f16);
  EXPECT_EQ(type_of("b.gguf", "single_blocks.0.linear1.weight"), DType::q5_0);
  EXPECT_EQ(type_of("b.gguf", "single_blocks.0.linear2.weight"), DType::q4_0);
  EXPECT_EQ(type_of("b.gguf", "double_blocks.0.img_mlp.0.weight"), DType::q8_0);
  EXPECT_EQ(type_of("b.gguf", "img_in.weight"), DType::f32);
  EXPECT_EQ(ruled.architecture, "flux");
  EXPECT_EQ(complaint_of([&] { quantize(checkpoint, "c.gguf", "q8_0", "", {"nothing.*=f16"}); }),
            "UsageError: quantize: the rule for 'nothing.*' decides no tensor's type");
  EXPECT_EQ(complaint_of([&] { quantize(checkpoint, "c.gguf", "q8_0", "", {"img_in.weight"}); }),
            "UsageError: quantize: the rule is 'img_in.weight', expected PATTERN=TYPE");
  EXPECT_EQ(complaint_of([&] { quantize(checkpoint, "c.gguf", "q8_0", "", {"*=q4_k_m"}); }),
            "UsageError: quantize: the rule '*=q4_k_m' has the mixed type q4_k_m, expected the type of a tensor");
  EXPECT_FALSE(fs::exists(folder / "c.gguf"));
}

// hearth convert writes floats, and keeps blocks; back in a folder they are floats.
TEST_F(StoredTypes, convert_to_gguf_and_back) {
  convert({.model = checkpoint, .output = folder / "a.gguf", .layout = "gguf"});
  EXPECT_EQ(GgufFile::open(folder / "a.gguf")->list().at("single_blocks.0.linear1.weight").dtype, DType::bf16);
  const std::vector<float> wanted = latents({.precision = Precision::f32});
  EXPECT_EQ(latents(with("transformer", folder / "a.gguf")), wanted);
  convert({.model = checkpoint, .components = {{"transformer", folder / "a.gguf"}}, .output = folder / "back"});
  EXPECT_EQ(latents_of(folder / "back", {.precision = Precision::f32}), wanted);
  quantize(checkpoint, "q.gguf", "q5_0");
  convert({.model = checkpoint, .components = {{"transformer", folder / "q.gguf"}}, .output = folder / "same.gguf", .layout = "gguf"});
  const auto before = GgufFile::open(folder / "q.gguf"), after = GgufFile::open(folder / "same.gguf");
  for (const auto& [name, info] : before->list()) {
    ASSERT_EQ(after->list().at(name).dtype, info.dtype) << name;
    EXPECT_TRUE(std::ranges::equal(after->stored_bytes(name), before->stored_bytes(name))) << name;
  }
  EXPECT_EQ(complaint_of([&] { convert({.model = checkpoint, .output = folder / "b", .component = "vae"}); }),
            "UsageError: convert: a component is given, expected the layout gguf, got diffusers");
}

TEST_F(StoredTypes, files_that_do_not_belong_are_refused_in_one_line) {
  GgufValues values;
  values.text("general.architecture", "llama");
  const std::vector<GgufTensor> tensors{{"token_embd.weight", DType::f32, {2, 32}}};
  write_gguf(folder / "llama.gguf", values, tensors, [](size_t, const WriteBytes& write) {
    const std::vector<float> zeros(64);
    write(std::as_bytes(std::span(zeros)));
  });
  const std::string llama = (folder / "llama.gguf").string();
  EXPECT_EQ(complaint_of([&] { Model::open(checkpoint, with("transformer", llama)); }),
            "WeightError: " + llama + ": holds no transformer, only a GGUF model of the architecture 'llama'");
  EXPECT_EQ(complaint_of([&] { Model::open(llama); }),
            "UnsupportedError: " + llama + ": cannot be run, because it holds a GGUF model of the architecture 'llama'");
  quantize(checkpoint, "t5.gguf", "q8_0", "text_encoder_2");
  const std::string t5 = (folder / "t5.gguf").string();
  EXPECT_EQ(complaint_of([&] { Model::open(checkpoint, with("transformer", t5)); }),
            "WeightError: " + t5 + ": holds no transformer, only text encoder");
  // T5 of another size.
  quantize(folder_of(cases.at("schnell")), "small.gguf", "q8_0", "text_encoder_2");
  const std::string message = complaint_of([&] { Model::open(checkpoint, with("text_encoder_2", folder / "small.gguf")); });
  EXPECT_TRUE(message.starts_with("WeightError: weights: " + (folder / "small.gguf").string() + ": ")) << message;
  EXPECT_EQ(std::ranges::count(message, '\n'), 0) << message;
  EXPECT_EQ(complaint_of([&] { quantize(checkpoint, "x.gguf", "q8_0", "text_encoder_9"); }),
            "WeightError: " + checkpoint.string() + ": model_index.json has no component 'text_encoder_9', which FluxPipeline needs");
  EXPECT_EQ(complaint_of([&] { quantize(folder / "llama.gguf", "x.gguf", "q8_0", "transformer"); }),
            "UsageError: quantize: " + llama + " is a language model, which has no component 'transformer'");
}

TEST_F(StoredTypes, inspect_names_architecture_and_types) {
  quantize(checkpoint, "transformer.gguf", "q8_0");
  const Inspection found = inspect(folder / "transformer.gguf");
  EXPECT_NE(found.text.find("flux_dev: flux\n"), std::string::npos) << found.text;
  EXPECT_NE(found.text.find("q8_0"), std::string::npos) << found.text;
}

}  // namespace
}  // namespace hearth::test
