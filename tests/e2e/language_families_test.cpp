// Every language family whose network is a decoder, tiny: from a folder and from the GGUF file that is made of it.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/threads.h"
#include "e2e/family_configs_test.h"
#include "e2e/language_copy.h"
#include "hearth/language.h"
#include "hearth/quantize.h"
#include "models/language_loading.h"
#include "models/language_registry.h"
#include "support/detached_backend.h"
#include "weights/seeded_file.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class LanguageFamilies : public ::testing::Test {
 protected:
  // A folder with the demo model's tokenizer and weights by name.
  void write(const std::string& name, const models::LanguageFamily& family, const fs::path& to) const {
    fs::create_directories(to);
    const fs::path demo = demo_language_model();
    for (const char* file : {"tokenizer.json", "tokenizer_config.json"}) fs::copy_file(demo / file, to / file);
    const Json config = family_config(name, family, Json::parse(read_file(demo / "config.json", 1 << 20))["vocab_size"]);
    write_file(to / "config.json", config.dump());
    ThreadPool threads(2);
    write_seeded_file(to / "model.safetensors", models::network_shapes(family, Config::parse(config.dump(), "config.json")), DType::f32,
                      threads);
  }
  static Completion complete(const fs::path& path, const std::string& device = "cpu", std::optional<int64_t> gpu_layers = {}) {
    LanguageModel model = LanguageModel::open(path, {.device = device, .threads = 2, .gpu_layers = gpu_layers});
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < 40; ++i) ids.push_back((i * 37 + 11) % 200);
    return model.complete(
        {.prompt_ids = ids, .max_tokens = 24, .sampling = {.temperature = 0}, .ignore_end = true, .prompt_logprobs = true});
  }

  TemporaryFolder folder;
};

TEST_F(LanguageFamilies, a_folder_and_its_gguf_file_give_the_same) {
  size_t decoders = 0;
  for (const auto& [name_, family] : models::language_families()) {
    const std::string name(name_);
    SCOPED_TRACE(name);
    if (name.starts_with("mock_")) continue;
    ASSERT_TRUE(family_keys.contains(name)) << "add its configuration";
    ++decoders;
    write(name, family, folder / name);
    const Completion from_folder = complete(folder / name);
    if (family.gguf.name.empty()) continue;
    const fs::path file = folder / (name + ".gguf");
    quantize({.model = (folder / name).string(), .output = file.string(), .type = "f32", .threads = 2});
    const Completion from_file = complete(file);
    EXPECT_EQ(from_file.tokens, from_folder.tokens);
    ASSERT_EQ(from_file.prompt_logprobs.size(), from_folder.prompt_logprobs.size());
    // The order of rows in a head may differ, and with it that of sums.
    for (size_t i = 1; i < from_file.prompt_logprobs.size(); ++i)
      EXPECT_NEAR(*from_file.prompt_logprobs[i], *from_folder.prompt_logprobs[i], 2e-5) << i;
    const QuantizeReport blocks =
        quantize({.model = file.string(), .output = (folder / "blocks.gguf").string(), .type = "q8_0", .threads = 2});
    EXPECT_GT(blocks.types.at("q8_0"), 4);
    const Completion from_blocks = complete(folder / "blocks.gguf");
    EXPECT_EQ(from_blocks.tokens.size(), 24u);
  }
  EXPECT_EQ(decoders, family_keys.size());
}

// The keys, values and states of each layer stay where the layer is.
TEST_F(LanguageFamilies, a_part_of_the_layers_may_be_on_a_card) {
  add_detached_backend();
  for (const auto& [name_, family] : models::language_families()) {
    const std::string name(name_);
    SCOPED_TRACE(name);
    if (name.starts_with("mock_")) continue;
    write(name, family, folder / name);
    const Completion whole = complete(folder / name, "reference"), divided = complete(folder / name, "detached", 1);
    EXPECT_EQ(divided.tokens, whole.tokens);
    EXPECT_EQ(divided.prompt_logprobs, whole.prompt_logprobs);
  }
}

// The state of a text in a file, which another process continues from.
TEST_F(LanguageFamilies, a_saved_state_continues_in_another_process) {
  for (const auto& [name_, family] : models::language_families()) {
    const std::string name(name_);
    if (name.starts_with("mock_")) continue;
    SCOPED_TRACE(name);
    write(name, family, folder / name);
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < 30; ++i) ids.push_back((i * 37 + 11) % 200);
    const CompletionRequest request{.prompt_ids = ids, .max_tokens = 12, .context = 60, .sampling = {.temperature = 0}, .ignore_end = true};
    for (const CacheType type : {CacheType::f32, CacheType::q8_0}) {
      LanguageModel first = LanguageModel::open(folder / name, {.threads = 2, .cache_type = type});
      EXPECT_EQ(message_of<UsageError>([&] { first.save_state(folder / "state"); }, folder.path()),
                "FOLDER/state: the model has processed no text, expected a completion first");
      const Completion whole = first.complete(request);
      CompletionRequest part = request;
      part.prompt_ids->resize(20), part.max_tokens = 0;
      LanguageModel second = LanguageModel::open(folder / name, {.threads = 2, .cache_type = type});
      second.complete(part);
      second.save_state(folder / "state");
      LanguageModel third = LanguageModel::open(folder / name, {.threads = 2, .cache_type = type});
      third.load_state(folder / "state");
      const Completion continued = third.complete(request);
      EXPECT_EQ(continued.cached_tokens, 20);
      EXPECT_EQ(continued.tokens, whole.tokens);
    }
  }
}

TEST_F(LanguageFamilies, a_state_of_another_model_is_refused_by_the_key_that_differs) {
  const auto llama = models::language_families();
  for (const auto& [name_, family] : llama) {
    if (name_ != "llama") continue;
    write("llama", family, folder / "one");
    write("llama", family, folder / "two");
    Json config = Json::parse(read_file(folder / "two/config.json", 1 << 20));
    config["rope_theta"] = 500.0;
    write_file(folder / "two/config.json", config.dump());
    LanguageModel one = LanguageModel::open(folder / "one", {.threads = 2}), two = LanguageModel::open(folder / "two", {.threads = 2});
    one.complete({.prompt_ids = std::vector<int32_t>{1, 2, 3}, .max_tokens = 1, .ignore_end = true});
    one.save_state(folder / "state");
    EXPECT_EQ(message_of<WeightError>([&] { two.load_state(folder / "state"); }, folder.path()),
              "FOLDER/state: is of another model: 'rope_theta' is 10000.0, expected 500.0");
    // The same configuration with other weights.
    fs::copy(folder / "one", folder / "tuned");
    std::string bytes = read_file(folder / "tuned/model.safetensors", int64_t(1) << 30);
    for (size_t i = bytes.size() / 2; i < bytes.size(); i += 64) bytes[i] = char(bytes[i] ^ 1);
    write_file(folder / "tuned/model.safetensors", bytes);
    LanguageModel tuned = LanguageModel::open(folder / "tuned", {.threads = 2});
    EXPECT_EQ(message_of<WeightError>([&] { tuned.load_state(folder / "state"); }, folder.path())
                  .rfind("FOLDER/state: is of another model: 'weights' is ", 0),
              0u);
    LanguageModel narrow = LanguageModel::open(folder / "one", {.threads = 2, .cache_type = CacheType::f16});
    EXPECT_EQ(message_of<WeightError>([&] { narrow.load_state(folder / "state"); }, folder.path()),
              "FOLDER/state: has a KV cache of f32, expected f16");
    EXPECT_EQ(message_of<WeightError>([&] { one.load_state(folder / "one/model.safetensors"); }, folder.path()),
              "FOLDER/one/model.safetensors: not the state of a text, expected \"hearth text state 1\" in its metadata");
  }
}

// Every family is given the state of the next.
TEST_F(LanguageFamilies, a_state_of_another_family_is_refused_by_name) {
  std::vector<std::string> names;
  for (const auto& [name, family] : models::language_families()) {
    if (name.starts_with("mock_")) continue;
    names.emplace_back(name);
    write(names.back(), family, folder / names.back());
    LanguageModel model = LanguageModel::open(folder / names.back(), {.threads = 2});
    model.complete({.prompt_ids = std::vector<int32_t>{1, 2, 3}, .max_tokens = 1, .ignore_end = true});
    model.save_state(folder / (names.back() + ".state"));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& other = names[(i + 1) % names.size()];
    LanguageModel model = LanguageModel::open(folder / names[i], {.threads = 2});
    EXPECT_EQ(message_of<WeightError>([&] { model.load_state(folder / (other + ".state")); }, folder.path()),
              fmt::format("FOLDER/{0}.state: is of another model: 'family' is {0}, expected {1}", other, names[i]));
    model.load_state(folder / (names[i] + ".state"));
  }
}

TEST_F(LanguageFamilies, every_type_of_cache_is_close_to_f32) {
  for (const auto& [name_, family] : models::language_families()) {
    const std::string name(name_);
    if (name.starts_with("mock_")) continue;
    SCOPED_TRACE(name);
    write(name, family, folder / name);
    CompletionRequest request{.prompt_ids = std::vector<int32_t>(), .max_tokens = 0, .prompt_logprobs = true};
    for (int32_t i = 0; i < 60; ++i) request.prompt_ids->push_back((i * 37 + 11) % 200);
    LanguageModel exact = LanguageModel::open(folder / name, {.threads = 2});
    const Completion expected = exact.complete(request);
    // Recurrent states are f32 in any case.
    const double half = double(LanguageModel::open(folder / name, {.threads = 2, .cache_type = CacheType::f16}).cache_bytes(100));
    const auto all = double(exact.cache_bytes(100)), keys = 2 * (all - half);
    // Mean differences of log-probabilities; observed for q8_0: at most 0.105.
    const std::tuple<CacheType, double, double> types[] = {
        {CacheType::f16, 0.5, 1e-2}, {CacheType::bf16, 0.5, 5e-2}, {CacheType::q8_0, 34.0 / 128, 0.3}};
    for (const auto& [type, size, limit] : types) {
      LanguageModel model = LanguageModel::open(folder / name, {.threads = 2, .cache_type = type});
      EXPECT_EQ(double(model.cache_bytes(100)), all - keys + size * keys);
      const Completion made = model.complete(request);
      double sum = 0;
      for (size_t i = 1; i < made.prompt_logprobs.size(); ++i)
        sum += std::abs(double(*made.prompt_logprobs[i]) - double(*expected.prompt_logprobs[i]));
      EXPECT_LT(sum / 59, limit) << int(type);
      EXPECT_EQ(sum > 0, keys > 0) << int(type);
    }
  }
}

// What a chat does: the second turn computes only its own tokens, wherever the state can continue from.
TEST_F(LanguageFamilies, a_second_turn_computes_only_new_tokens) {
  for (const auto& [name_, family] : models::language_families()) {
    const std::string name(name_);
    if (name.starts_with("mock_")) continue;
    SCOPED_TRACE(name);
    write(name, family, folder / name);
    LanguageModel model = LanguageModel::open(folder / name, {.threads = 2});
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < 30; ++i) ids.push_back((i * 37 + 11) % 200);
    const CompletionRequest first{.prompt_ids = ids, .max_tokens = 4, .context = 80, .sampling = {.temperature = 0}, .ignore_end = true};
    const Completion reply = model.complete(first);
    ids.insert(ids.end(), reply.tokens.begin(), reply.tokens.end());
    for (int32_t i = 0; i < 10; ++i) ids.push_back(i * 3);
    CompletionRequest second = first;
    second.prompt_ids = ids;
    const Completion continued = model.complete(second);
    EXPECT_EQ(continued.cached_tokens, 33);
    LanguageModel fresh = LanguageModel::open(folder / name, {.threads = 2});
    EXPECT_EQ(fresh.complete(second).tokens, continued.tokens);
  }
}

}  // namespace
}  // namespace hearth::test
