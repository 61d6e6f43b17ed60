// Adapters of language models: compared with PEFT (language_golden/make_lora.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "e2e/language_copy.h"
#include "hearth/quantize.h"
#include "support/backend_test.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "support/tolerance.h"
#include "weights/gguf/gguf_writer.h"
#include "weights/safetensors/safetensors.h"
#include "weights/seeded.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct LoraLanguage : testing::Test {
  TemporaryFolder folder;
  std::unique_ptr<Backend> host = make_test_backend("reference");
  Json golden = load_json(HEARTH_SOURCE_DIR "/tests/e2e/language_golden/lora.json");

  std::map<std::string, Tensor> tensors(const std::string& name) {
    std::map<std::string, Tensor> all;
    const auto source = seeded_source();
    for (const auto& [tensor, sizes] : golden.at("cases").at(name).at("tensors").items()) {
      Shape shape;
      for (const int64_t size : sizes) shape.push_back(size);
      all[tensor] = source->read(tensor, shape, *host);
    }
    return all;
  }
  // PEFT's folder.
  fs::path adapter(const std::string& name) {
    const fs::path own = folder / name;
    fs::create_directories(own);
    write_safetensors(own / "adapter_model.safetensors", tensors(name));
    std::ofstream(own / "adapter_config.json") << golden.at("cases").at(name).at("config").dump();
    return own;
  }
  // The adapter as llama.cpp's converter writes it, which interleaves the halves of each head in `heads`.
  fs::path gguf_adapter(const std::string& name) {
    const std::vector<std::pair<std::string, std::string>> names{
        {"base_model.model.model.layers.", "blk."}, {".self_attn.q_proj", ".attn_q"},     {".self_attn.k_proj", ".attn_k"},
        {".self_attn.v_proj", ".attn_v"},           {".lora_A.weight", ".weight.lora_a"}, {".lora_B.weight", ".weight.lora_b"}};
    GgufValues values;
    values.text("general.architecture", "llama"), values.text("general.type", "adapter"), values.text("adapter.type", "lora");
    values.f32("adapter.lora.alpha", golden.at("cases").at(name).at("config").at("lora_alpha").get<float>());
    std::vector<GgufTensor> written;
    std::vector<std::vector<float>> data;
    for (const auto& [tensor, x] : tensors(name)) {
      std::string own = tensor;
      for (const auto& [from, to] : names)
        if (const size_t at = own.find(from); at != own.npos) own.replace(at, from.size(), to);
      std::vector<float> of = x.to_vector();
      if (own.ends_with("lora_b") && own.find("attn_v") == own.npos) {
        const int64_t head = 32, columns = x.size(1);
        std::vector<float> interleaved(of.size());
        for (int64_t row = 0; row < x.size(0); ++row) {
          const int64_t i = row % head, to = row - i + i % (head / 2) * 2 + i / (head / 2);
          std::copy_n(of.begin() + row * columns, columns, interleaved.begin() + to * columns);
        }
        of = interleaved;
      }
      written.push_back({.name = own, .dtype = DType::f32, .shape = x.shape()});
      data.push_back(std::move(of));
    }
    const fs::path file = folder / (name + ".gguf");
    write_gguf(file, values, written, [&](size_t i, const WriteBytes& write) { write(std::as_bytes(std::span<const float>(data[i]))); });
    return file;
  }

  std::vector<float> logprobs(const fs::path& model, std::vector<Lora> loras, const std::string& device = "cpu") {
    LanguageModel opened = LanguageModel::open(model, {.device = device, .precision = Precision::f32, .loras = std::move(loras)});
    const Completion made =
        opened.complete({.prompt_ids = golden.at("ids").get<std::vector<int32_t>>(), .max_tokens = 0, .prompt_logprobs = true});
    std::vector<float> values;
    for (const auto& v : made.prompt_logprobs)
      if (v) values.push_back(*v);
    return values;
  }
  std::vector<float> expected(const std::string& name) { return golden.at("cases").at(name).at("logprobs").get<std::vector<float>>(); }
};

TEST_F(LoraLanguage, log_probabilities_are_those_of_peft) {
  for (const auto& [name, recorded] : golden.at("cases").items()) {
    const double error = relative_error(logprobs(demo_language_model(), {{.file = adapter(name)}}), expected(name));
    if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s: %.1e\n", name.c_str(), error);
    EXPECT_LE(error, 1e-5) << name;  // observed: 4e-7
  }
}

TEST_F(LoraLanguage, on_devices_with_memory_of_their_own) {
  add_detached_backend();
  for (const char* device : {"detached", "vulkan"})
    for (const char* name : {"all", "dora"}) {
      if (!make_test_backend(device)) continue;
      EXPECT_LE(relative_error(logprobs(demo_language_model(), {{.file = adapter(name)}}, device), expected(name)), 1e-5)
          << device << " " << name;
    }
}

TEST_F(LoraLanguage, strength_zero_is_no_adapter) {
  const std::vector<float> plain = logprobs(demo_language_model(), {});
  EXPECT_EQ(logprobs(demo_language_model(), {{.file = adapter("all"), .scale = 0}}), plain);
  EXPECT_NE(logprobs(demo_language_model(), {{.file = adapter("all"), .scale = -1}}), plain);
}

// GGUF files interleave the halves of each head.
TEST_F(LoraLanguage, acts_alike_on_folders_and_gguf_files_in_both_layouts) {
  quantize({.model = demo_language_model(), .output = folder / "model.gguf", .type = "f32", .threads = 2});
  for (const fs::path& model : {demo_language_model(), fs::path(folder / "model.gguf")}) {
    for (const char* name : {"attention", "all", "dora"})
      EXPECT_LE(relative_error(logprobs(model, {{.file = adapter(name)}}), expected(name)), 1e-5) << model << name;
    EXPECT_LE(relative_error(logprobs(model, {{.file = gguf_adapter("attention")}}), expected("attention")), 1e-5) << model;
  }
}

// Rounded weights: as near to the same adapter on exact ones as the rounded model is to the exact one.
TEST_F(LoraLanguage, acts_beside_quantized_weights) {
  quantize({.model = demo_language_model(), .output = folder / "model.gguf", .type = "q8_0", .threads = 2});
  EXPECT_LE(relative_error(logprobs(folder / "model.gguf", {{.file = adapter("attention")}}), expected("attention")), 2e-2);
}

TEST_F(LoraLanguage, of_another_model_are_refused) {
  std::map<std::string, Tensor> other;
  for (const auto& [name, x] : tensors("attention")) other["base_model.model.transformer." + name.substr(23)] = x;
  write_safetensors(folder / "other.safetensors", other);
  const std::string complaint = complaint_of([&] { logprobs(demo_language_model(), {{.file = folder / "other.safetensors"}}); });
  EXPECT_NE(complaint.find("WeightError: " + (folder / "other.safetensors").string() + ": the adapter is for another model"),
            complaint.npos)
      << complaint;
  Json config = golden.at("cases").at("attention").at("config");
  config["peft_type"] = "VERA";
  const fs::path own = adapter("attention");
  std::ofstream(own / "adapter_config.json") << config.dump();
  EXPECT_NE(complaint_of([&] { logprobs(demo_language_model(), {{.file = own}}); }).find("an adapter of PEFT's type VERA"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth::test
