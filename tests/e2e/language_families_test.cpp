// Every language family whose network is a decoder, tiny: from a folder and from the GGUF file that is made of it.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/threads.h"
#include "e2e/language_copy.h"
#include "hearth/hearth.h"
#include "models/language_loading.h"
#include "models/language_registry.h"
#include "weights/seeded_file.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// What the configurations of most families have in common. Rows of 64 and 32 are whole blocks.
Json common(const std::string& model_type, int64_t vocabulary) {
  return {{"model_type", model_type}, {"vocab_size", vocabulary},       {"hidden_size", 64},
          {"intermediate_size", 96},  {"num_hidden_layers", 3},         {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"max_position_embeddings", 256}, {"tie_word_embeddings", false}};
}

// The families' own keys; an empty list of types: the family has no GGUF files.
const std::map<std::string, Json> own_keys = {
    {"llama", {{"attention_bias", true}, {"mlp_bias", true}, {"head_dim", 32}}},
    {"mistral", {{"sliding_window", 9}}},
    {"qwen2", Json::object()},
    {"qwen3", {{"head_dim", 32}, {"tie_word_embeddings", true}}},
    {"mixtral", {{"num_local_experts", 5}}},
    {"qwen2_moe", {{"num_experts", 6}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 32}, {"shared_expert_intermediate_size", 64}}},
    {"qwen3_moe", {{"num_experts", 6}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 32}, {"norm_topk_prob", true}}},
    {"phimoe", {{"num_local_experts", 5}, {"attention_bias", true}, {"lm_head_bias", true}}},
    {"gpt_oss", {{"num_local_experts", 5}, {"num_experts_per_tok", 2}, {"head_dim", 32}, {"sliding_window", 9}, {"rope_scaling", nullptr}}},
    {"gemma2", {{"head_dim", 32}, {"query_pre_attn_scalar", 32}, {"sliding_window", 9}, {"tie_word_embeddings", true}}},
    {"gemma3",
     {{"model_type", "gemma3_text"},
      {"head_dim", 32},
      {"query_pre_attn_scalar", 32},
      {"sliding_window", 9},
      {"num_hidden_layers", 7},
      {"tie_word_embeddings", true}}},
    {"phi3",
     {{"partial_rotary_factor", 0.5},
      {"original_max_position_embeddings", 64},
      {"rope_scaling", {{"type", "longrope"}, {"short_factor", {1, 1.5, 2, 2.5}}, {"long_factor", {2, 3, 4, 5}}}}}},
    {"smollm3", {{"num_hidden_layers", 5}}},
    {"granite", {{"attention_multiplier", 0.2}, {"embedding_multiplier", 2.0}, {"residual_multiplier", 0.5}, {"logits_scaling", 4.0}}},
    {"olmo2", Json::object()},
    {"stablelm", {{"partial_rotary_factor", 0.5}, {"use_qkv_bias", true}, {"qk_layernorm", true}, {"use_parallel_residual", true}}},
    {"cohere", {{"use_qk_norm", true}, {"tie_word_embeddings", true}}},
    {"cohere2", {{"num_hidden_layers", 5}, {"sliding_window", 9}, {"tie_word_embeddings", true}}},
    {"glm4", {{"head_dim", 32}}},
    {"glm", {{"head_dim", 32}}},
    {"qwen3_next",
     {{"num_hidden_layers", 4},
      {"head_dim", 32},
      {"partial_rotary_factor", 0.5},
      {"num_experts", 6},
      {"num_experts_per_tok", 2},
      {"moe_intermediate_size", 32},
      {"shared_expert_intermediate_size", 64},
      {"linear_num_key_heads", 2},
      {"linear_num_value_heads", 4},
      {"linear_key_head_dim", 16},
      {"linear_value_head_dim", 32}}},
    {"rwkv7",
     {{"num_attention_heads", nullptr},
      {"num_key_value_heads", nullptr},
      {"head_dim", 16},
      {"decay_low_rank_dim", 32},
      {"a_low_rank_dim", 32},
      {"v_low_rank_dim", 32},
      {"gate_low_rank_dim", 32}}},
    {"recurrent_gemma", {{"num_hidden_layers", 4}, {"attention_window_size", 64}, {"tie_word_embeddings", true}}},
    {"deepseek", {{"n_routed_experts", 6}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 32}, {"first_k_dense_replace", 1}}},
    {"deepseek_v2",
     {{"n_routed_experts", 8},
      {"num_experts_per_tok", 2},
      {"moe_intermediate_size", 32},
      {"first_k_dense_replace", 1},
      {"n_group", 4},
      {"topk_group", 2},
      {"topk_method", "group_limited_greedy"},
      {"kv_lora_rank", 32},
      {"q_lora_rank", 32},
      {"qk_nope_head_dim", 32},
      {"qk_rope_head_dim", 16},
      {"v_head_dim", 32}}}};

class LanguageFamilies : public ::testing::Test {
 protected:
  // A folder with the demo model's tokenizer and weights by name.
  void write(const std::string& name, const models::LanguageFamily& family, const fs::path& to) const {
    fs::create_directories(to);
    const fs::path demo = demo_language_model();
    for (const char* file : {"tokenizer.json", "tokenizer_config.json"}) fs::copy_file(demo / file, to / file);
    Json config = common(std::string(family.model_types[0]), Json::parse(read_file(demo / "config.json", 1 << 20))["vocab_size"]);
    config.update(own_keys.at(name));
    write_file(to / "config.json", config.dump());
    ThreadPool threads(2);
    write_seeded_file(to / "model.safetensors", models::network_shapes(family, Config::parse(config.dump(), "config.json")), DType::f32,
                      threads);
  }
  static Completion complete(const fs::path& path) {
    LanguageModel model = LanguageModel::open(path, {.threads = 2});
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
    ASSERT_TRUE(own_keys.contains(name)) << "add its configuration";
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
    EXPECT_GT(blocks.types.at("q8_0"), 10);
    const Completion from_blocks = complete(folder / "blocks.gguf");
    EXPECT_EQ(from_blocks.tokens.size(), 24u);
  }
  EXPECT_EQ(decoders, own_keys.size());
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
      if (type == CacheType::q8_0 && name != "llama") continue;  // heads of 32
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
    LanguageModel narrow = LanguageModel::open(folder / "one", {.threads = 2, .cache_type = CacheType::f16});
    EXPECT_EQ(message_of<WeightError>([&] { narrow.load_state(folder / "state"); }, folder.path()),
              "FOLDER/state: has a KV cache of f32, expected f16");
    EXPECT_EQ(message_of<WeightError>([&] { one.load_state(folder / "one/model.safetensors"); }, folder.path()),
              "FOLDER/one/model.safetensors: not the state of a text, expected \"hearth text state 1\" in its metadata");
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
