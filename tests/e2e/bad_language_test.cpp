// Every fault of a language model or a request is a one-line error.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
#include "e2e/language_copy.h"
#include "hearth/hearth.h"
#include "support/complaint.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Tensors = std::map<std::string, Tensor>;

const CompletionRequest brief{.prompt = "The sea", .max_tokens = 2, .sampling = {.temperature = 0}};

// The error of opening and a short run, as "WeightError: …"; "" if they succeed.
std::string complaint(const fs::path& path, const CompletionRequest& request = brief, const LanguageOptions& options = {.threads = 1}) {
  return test::complaint_of([&] { LanguageModel::open(path, options).complete(request); });
}

std::string complaint(const CompletionRequest& request) { return complaint(demo_language_model(), request); }

// The complaint contains all parts, in this order.
void expect_parts(const std::string& complaint, const std::vector<std::string>& parts) {
  size_t at = 0;
  for (const std::string& part : parts) {
    at = complaint.find(part, at);
    ASSERT_NE(at, std::string::npos) << "no '" << part << "' in: " << complaint;
  }
}

std::string with_config(const std::string& key, const Json& value) {
  LanguageCopy copy;
  copy.edit_json("config.json", [&](Json& json) { json[key] = value; });
  return complaint(copy.path());
}

std::string with_tensors(const std::function<void(LanguageCopy&, Tensors&)>& change) {
  LanguageCopy copy;
  copy.edit_tensors([&](Tensors& tensors) { change(copy, tensors); });
  return complaint(copy.path());
}

TEST(BadLanguageModel, missing_files) {
  TemporaryFolder folder;
  expect_parts(complaint(folder / "none"), {"IoError", "none", "no such file or folder"});
  expect_parts(complaint(folder.path()), {"IoError", "config.json"});
  std::ofstream(folder / "notes.txt") << "x";
  expect_parts(complaint(folder / "notes.txt"), {"IoError", "notes.txt"});
  // Some publishers have only such files.
  std::ofstream(folder / "model.pth") << "PK\3\4";
  expect_parts(complaint(folder / "model.pth"),
               {"IoError",
                "model.pth: is not a GGUF file, and other files have no configuration and no tokenizer: expected a GGUF file, or a "
                "folder with config.json, a tokenizer and safetensors"});
}

TEST(BadLanguageModel, one_missing_file) {
  for (const char* file : {"config.json", "model.safetensors", "tokenizer.json"}) {
    LanguageCopy copy;
    fs::remove(copy / file);
    expect_parts(complaint(copy.path()), {"IoError", file == std::string("model.safetensors") ? "safetensors" : file});
  }
  LanguageCopy copy;  // ids need no tokenizer, stop sequences do
  fs::remove(copy / "tokenizer.json");
  fs::remove(copy / "tokenizer_config.json");
  EXPECT_EQ(complaint(copy.path(), {.prompt_ids = {{1, 2, 3}}, .max_tokens = 2}), "");
  expect_parts(complaint(copy.path(), {.prompt_ids = {{1, 2, 3}}, .max_tokens = 2, .stop = {"x"}}),
               {"UsageError", "stop sequences require a tokenizer"});
}

TEST(BadLanguageModel, malformed_json) {
  for (const char* file : {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"}) {
    LanguageCopy copy;
    const std::string whole = read_file(copy / file);
    for (const std::string& text : {whole.substr(0, whole.size() / 2), std::string("[]"), std::string()}) {
      std::ofstream(copy / file) << text;
      expect_parts(complaint(copy.path()), {"Error", file});
    }
  }
}

TEST(BadLanguageModel, truncated_weights) {
  LanguageCopy whole;
  const fs::path file = whole / "model.safetensors";
  for (const uintmax_t size : {fs::file_size(file) - 1, uintmax_t(1000), uintmax_t(4), uintmax_t(0)}) {
    fs::resize_file(file, size);
    expect_parts(complaint(whole.path()), {"Error", "model.safetensors"});
  }
  LanguageCopy copy;
  copy.shard(2);
  const fs::path second = copy / "model-00002-of-00002.safetensors";
  fs::resize_file(second, fs::file_size(second) - 10);
  expect_parts(complaint(copy.path()), {"Error", "model-00002-of-00002.safetensors"});
  fs::remove(second);
  expect_parts(complaint(copy.path()), {"IoError", "model-00002-of-00002.safetensors"});
}

TEST(BadLanguageModel, unsupported_config_keys_are_named) {
  expect_parts(with_config("model_type", "lama"), {"UnsupportedError", "config.json", "'lama'", "llama"});
  expect_parts(with_config("model_type", ""), {"WeightError", "config.json", "model_type"});
  expect_parts(with_config("rope_scaling", {{"rope_type", "longrope"}, {"factor", 2.0}}), {"WeightError", "config.json", "short_factor"});
  expect_parts(with_config("rope_scaling", {{"rope_type", "spiral"}}), {"UnsupportedError", "config.json", "spiral"});
  expect_parts(with_config("hidden_act", "sqrt"), {"UnsupportedError", "config.json", "hidden_act", "sqrt"});
  expect_parts(with_config("logit_scale", 0.5), {"Error", "config.json", "logit_scale"});
  expect_parts(with_config("partial_rotary_factor", 0.5), {"UnsupportedError", "partial_rotary_factor"});
  expect_parts(with_config("quantization_config", {{"quant_method", "hqq"}}), {"Error", "config.json", "quantization_config"});
  expect_parts(with_config("num_key_value_heads", 3), {"WeightError", "'num_key_value_heads' = 3"});
  expect_parts(with_config("num_attention_heads", -8), {"WeightError", "num_attention_heads", "-8"});
  expect_parts(with_config("hidden_size", "256"), {"WeightError", "hidden_size"});
  expect_parts(with_config("num_hidden_layers", 1'000'000'000),
               {"WeightError", "'num_hidden_layers' = 1000000000, expected at most 10000"});
}

TEST(BadLanguageModel, tensors_and_config_that_contradict_each_other) {
  expect_parts(with_config("vocab_size", 500), {"WeightError", "model.embed_tokens.weight", "[512, 256]", "[500, 256]"});
  expect_parts(with_config("vocab_size", 640), {"WeightError", "model.embed_tokens.weight", "[512, 256]", "[640, 256]"});
  expect_parts(with_config("intermediate_size", 200), {"WeightError", "mlp", "512", "200"});
  expect_parts(with_config("num_hidden_layers", 3), {"WeightError", "model.layers.2."});
  expect_parts(with_config("num_hidden_layers", 1), {"WeightError", "model.layers.1."});  // unread
  expect_parts(with_config("tie_word_embeddings", false), {"WeightError", "lm_head.weight"});
  expect_parts(with_config("attention_bias", true), {"WeightError", "self_attn", "bias"});
  expect_parts(with_tensors([](LanguageCopy&, Tensors& t) { t.erase("model.norm.weight"); }), {"WeightError", "model.norm.weight"});
  expect_parts(with_tensors([](LanguageCopy& copy, Tensors& t) {
                 t["model.layers.0.self_attn.q_norm.weight"] = Tensor::zeros(copy.device(), {16});
               }),
               {"WeightError", "model.layers.0.self_attn.q_norm.weight"});
}

TEST(BadLanguageModel, non_finite_values) {
  expect_parts(with_tensors([](LanguageCopy& copy, Tensors& t) {
                 t["model.norm.weight"] = Tensor::from(copy.device(), {256}, std::vector<float>(256, NAN), DType::f16);
               }),
               {"Error", "model.norm.weight"});
}

TEST(BadLanguageModel, unsupported_tokenizers) {
  const auto with = [](const std::function<void(Json&)>& change) {
    LanguageCopy copy;
    copy.edit_json("tokenizer.json", change);
    return complaint(copy.path());
  };
  expect_parts(with([](Json& j) { j["model"]["type"] = "Syllables"; }), {"UnsupportedError", "Syllables"});
  expect_parts(with([](Json& j) { j["pre_tokenizer"]["type"] = "Scissors"; }), {"UnsupportedError", "Scissors"});
  expect_parts(with([](Json& j) { j["model"].erase("vocab"); }), {"Error", "vocab"});
  expect_parts(with([](Json& j) { j["model"]["merges"][0] = "q zz"; }), {"Error"});
  // With more tokens than the model has rows, a prompt with one of the excess tokens is refused.
  LanguageCopy copy;
  copy.edit_json("tokenizer.json", [](Json& j) {
    Json token = j["added_tokens"][0];
    token["content"] = "<|more|>";
    token["id"] = 512;
    j["added_tokens"].push_back(token);
  });
  EXPECT_EQ(complaint(copy.path()), "");
  expect_parts(complaint(copy.path(), {.prompt = "a<|more|>", .max_tokens = 1}), {"UsageError", "512", "vocabulary of 512"});
}

TEST(BadCompletion, invalid_requests) {
  const auto with = [](const std::function<void(CompletionRequest&)>& change) {
    CompletionRequest request = brief;
    change(request);
    return complaint(request);
  };
  EXPECT_EQ(with([](CompletionRequest&) {}), "");
  expect_parts(with([](CompletionRequest& r) { r.sampling.temperature = -1; }), {"UsageError", "temperature", "-1"});
  expect_parts(with([](CompletionRequest& r) { r.sampling.temperature = NAN; }), {"UsageError", "temperature", "nan"});
  expect_parts(with([](CompletionRequest& r) { r.sampling.top_p = 1.5; }), {"UsageError", "--top-p", "1.5"});
  expect_parts(with([](CompletionRequest& r) { r.sampling.top_k = -1; }), {"UsageError", "--top-k", "-1"});
  expect_parts(with([](CompletionRequest& r) { r.sampling.order = "hf,llama"; }), {"UsageError", "llama"});
  expect_parts(with([](CompletionRequest& r) { r.sampling.logit_bias = {{512, 1.0F}}; }), {"UsageError", "512"});
  expect_parts(with([](CompletionRequest& r) { r.max_tokens = -1; }), {"UsageError", "max tokens -1"});
  expect_parts(with([](CompletionRequest& r) { r.context = 0; }), {"UsageError", "context 0"});
  expect_parts(with([](CompletionRequest& r) { r.context = 2; }), {"UsageError", "tokens", "context length of 2"});
  expect_parts(with([](CompletionRequest& r) { r.prompt_ids = {{1, 512}}; }), {"UsageError", "token id 512", "vocabulary of 512"});
  expect_parts(with([](CompletionRequest& r) { r.prompt_ids = {{-1}}; }), {"UsageError", "token id -1"});
  expect_parts(with([](CompletionRequest& r) { r.prompt_ids = std::vector<int32_t>{}; }), {"UsageError", "no token"});
  EXPECT_EQ(with([](CompletionRequest& r) { r.prompt = ""; }), "");  // the BOS token is a prompt
  expect_parts(with([](CompletionRequest& r) {
                 r.prompt = "";
                 r.add_special_tokens = false;
               }),
               {"UsageError", "no token"});
  expect_parts(complaint({.prompt_ids = std::vector<int32_t>(1025, 5), .max_tokens = 1}), {"UsageError", "1025", "1024"});
  expect_parts(complaint(demo_language_model(), brief, {.variant = "fp16"}), {"IoError", "fp16"});
  expect_parts(complaint(demo_language_model(), brief, {.device = "abacus"}), {"UsageError", "abacus"});
}

TEST(BadCompletion, a_megabyte_in_one_line) {
  const std::string line(1 << 20, 'a');
  expect_parts(complaint({.prompt = line, .max_tokens = 1}),
               {"UsageError", "the prompt has ", " tokens, expected at most the context length of 1024"});
}

// A failed request leaves the model unchanged.
TEST(BadCompletion, a_failed_request_leaves_the_model_unchanged) {
  LanguageModel model = LanguageModel::open(demo_language_model());
  const Completion before = model.complete(brief);
  CompletionRequest bad = brief;
  bad.context = 2;
  EXPECT_THROW(model.complete(bad), UsageError);
  CompletionRequest loud = brief;
  loud.on_text = [](std::string_view) { throw std::runtime_error("the listener's own"); };
  EXPECT_THROW(model.complete(loud), std::runtime_error);
  EXPECT_EQ(model.complete(brief).tokens, before.tokens);
  CompletionRequest halfway{.prompt_ids = std::vector<int32_t>(900, 5), .max_tokens = 1, .sampling = {.temperature = 0}, .logprobs = 0};
  const float logprob = LanguageModel::open(demo_language_model()).complete(halfway).logprobs.at(0).logprob;
  halfway.progress = [](const Progress&) { throw std::runtime_error("the listener's own"); };  // after the first of two chunks
  EXPECT_THROW(model.complete(halfway), std::runtime_error);
  halfway.progress = {};
  EXPECT_EQ(model.complete(halfway).logprobs.at(0).logprob, logprob);
}

}  // namespace
}  // namespace hearth::test
