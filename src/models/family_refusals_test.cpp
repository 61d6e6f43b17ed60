// What the families of language models refuse: one line that names the key and its value.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/files/file.h"
#include "core/threads.h"
#include "models/language_loading.h"
#include "models/language_registry.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "weights/seeded_file.h"

namespace hearth::models {
namespace {

using Json = nlohmann::json;

const LanguageFamily& named(std::string_view wanted) {
  static const auto all = language_families();
  return std::ranges::find(all, wanted, [](const auto& found) { return found.name; })->family;
}

std::string refusal(const char* family, Json config) {
  if (!config.contains("model_type")) config["model_type"] = named(family).model_types[0];
  return test::message_of<Error>([&] { named(family).spell_out(Config::parse(config.dump(), "config.json")); }, "FOLDER");
}

using Names = std::set<std::string>;

// Of all families but those of `except`, which have the key.
void expect_refused_elsewhere(const Json& config, const std::string& line, const Names& except) {
  for (const auto& [name_, family] : language_families()) {
    const std::string name(name_);
    if (name.starts_with("mock_")) continue;
    if (except.contains(name)) EXPECT_NE(refusal(name.c_str(), config), line) << name;
    else EXPECT_EQ(refusal(name.c_str(), config), line) << name;
  }
}

const Names without_positions = {"jamba", "mamba", "mamba2", "rwkv6", "rwkv7"};

TEST(FamilyRefusals, rope_types_that_do_not_exist) {
  const std::string expected = "is not supported, expected default, linear, dynamic, yarn, llama3 or longrope";
  for (const char* key : {"rope_type", "type"})
    expect_refused_elsewhere({{"rope_scaling", {{key, "spiral"}, {"factor", 2.0}}}},
                             "config.json: rope_scaling: 'rope_type' = \"spiral\" " + expected, without_positions);
  expect_refused_elsewhere({{"rope_parameters", {{"rope_type", "spiral"}, {"rope_theta", 10000.0}}}},
                           "config.json: rope_parameters: 'rope_type' = \"spiral\" " + expected, without_positions);
  for (const std::string& name : without_positions)
    EXPECT_EQ(refusal(name.c_str(), {{"rope_scaling", {{"rope_type", "linear"}, {"factor", 2.0}}}}),
              "config.json: unknown key: 'rope_scaling' = {\"factor\":2.0,\"rope_type\":\"linear\"}");
}

TEST(FamilyRefusals, routers_that_do_not_exist) {
  expect_refused_elsewhere({{"scoring_func", "tanh"}}, "config.json: unknown key: 'scoring_func' = \"tanh\"", {"deepseek", "deepseek_v2"});
  expect_refused_elsewhere({{"topk_method", "random"}}, "config.json: unknown key: 'topk_method' = \"random\"",
                           {"deepseek", "deepseek_v2"});
  EXPECT_EQ(refusal("deepseek", {{"topk_method", "random"}}), "config.json: 'topk_method' = \"random\" is not supported, only greedy");
  EXPECT_EQ(refusal("deepseek_v2", {{"model_type", "deepseek_v3"}, {"scoring_func", "softmax"}}),
            "config.json: 'scoring_func' = \"softmax\" is not supported, only sigmoid");
  EXPECT_EQ(refusal("deepseek_v2", {{"model_type", "deepseek_v3"}, {"topk_method", "group_limited_greedy"}}),
            "config.json: 'topk_method' = \"group_limited_greedy\" is not supported, expected greedy or noaux_tc");
  // As GGUF files have it.
  EXPECT_EQ(refusal("deepseek_v2", {{"gating_func", 3}}), "config.json: 'gating_func' = 3 is not supported, expected 1 or 2");
  EXPECT_EQ(refusal("deepseek_v2", {{"scoring_func", "tanh"}}), "config.json: 'scoring_func' = \"tanh\" is not supported, only softmax");
  EXPECT_EQ(refusal("deepseek_v2", {{"topk_method", "random"}}),
            "config.json: 'topk_method' = \"random\" is not supported, expected greedy or group_limited_greedy");
  EXPECT_EQ(refusal("deepseek_v2", {{"norm_topk_prob", true}}), "config.json: 'norm_topk_prob' = true is not supported, only false");
  EXPECT_EQ(refusal("deepseek", {{"scoring_func", "sigmoid"}}), "config.json: 'scoring_func' = \"sigmoid\" is not supported, only softmax");
  EXPECT_EQ(refusal("phimoe", {{"num_experts_per_tok", 3}}), "config.json: 'num_experts_per_tok' = 3 is not supported, only 2");
  EXPECT_EQ(refusal("mixtral", {{"num_experts_per_tok", 9}}),
            "config.json: 'num_experts_per_tok' = 9, expected at most 'num_local_experts' = 8");
  EXPECT_EQ(refusal("deepseek_v2", {{"n_group", 3}, {"topk_group", 1}, {"topk_method", "group_limited_greedy"}}),
            "config.json: 'topk_group' = 1 of 'n_group' = 3 cannot supply 6 of 64 experts");
  EXPECT_EQ(refusal("gpt_oss", {{"swiglu_limit", 5.0}}), "config.json: 'swiglu_limit' = 5.0 is not supported, only 7");
}

TEST(FamilyRefusals, windows_and_caps_of_families_that_have_none) {
  expect_refused_elsewhere({{"sliding_window", 128}}, "config.json: unknown key: 'sliding_window' = 128",
                           {"cohere2", "gemma2", "gemma3", "gpt_oss", "jamba", "llama", "mistral", "mixtral", "phi3", "phimoe", "qwen2",
                            "qwen2_moe", "qwen3", "qwen3_moe", "smollm3"});
  expect_refused_elsewhere({{"attn_logit_softcapping", 50.0}}, "config.json: unknown key: 'attn_logit_softcapping' = 50.0",
                           {"gemma2", "gemma3"});
  expect_refused_elsewhere({{"final_logit_softcapping", 30.0}}, "config.json: unknown key: 'final_logit_softcapping' = 30.0",
                           {"gemma2", "gemma3"});
  expect_refused_elsewhere({{"logits_soft_cap", 30.0}}, "config.json: unknown key: 'logits_soft_cap' = 30.0", {"recurrent_gemma"});
  EXPECT_EQ(refusal("phi3", {{"sliding_window", -1}}), "config.json: 'sliding_window' = -1, expected at least 1, or null for none");
  EXPECT_EQ(refusal("gemma2", {{"attn_logit_softcapping", -1.0}}),
            "config.json: 'attn_logit_softcapping' = -1, expected a positive number, or null for none");
  EXPECT_EQ(refusal("gemma3", {{"query_pre_attn_scalar", 0}}), "config.json: 'query_pre_attn_scalar' = 0, expected a positive number");
  EXPECT_EQ(refusal("glm4", {{"layer_types", {"sliding_attention"}}}),
            "config.json: the layer type \"sliding_attention\" is not supported here, expected full_attention");
}

TEST(FamilyRefusals, longrope_lists_that_do_not_match) {
  const Json two = {1.0, 2.0};
  EXPECT_EQ(refusal("phi3", {{"rope_scaling", {{"type", "longrope"}, {"short_factor", two}, {"long_factor", two}}}}),
            "config.json: rope_scaling: 'short_factor' has 2 values, expected 48 for 96 rotated elements");
}

// The number of experts, where the tensors have another.
TEST(FamilyRefusals, expert_counts_that_the_tensors_do_not_have) {
  const test::TemporaryFolder folder;
  const auto device = test::make_test_backend("reference");
  struct Case {
    const char *name, *key;
    Json more = Json::object();
  };
  const Json narrow = {{"moe_intermediate_size", 16}};
  const Json next = {{"moe_intermediate_size", 16}, {"shared_expert_intermediate_size", 16}, {"head_dim", 8},
                     {"linear_num_key_heads", 2},   {"linear_num_value_heads", 4},           {"linear_key_head_dim", 8},
                     {"linear_value_head_dim", 8}};
  for (const auto& [name, key, more] :
       {Case{"mixtral", "num_local_experts"}, Case{"phimoe", "num_local_experts"}, Case{"gpt_oss", "num_local_experts"},
        Case{"qwen2_moe", "num_experts", {{"moe_intermediate_size", 16}, {"shared_expert_intermediate_size", 16}}},
        Case{"qwen3_moe", "num_experts", narrow}, Case{"qwen3_next", "num_experts", next}, Case{"deepseek", "n_routed_experts", narrow},
        Case{"deepseek_v2", "n_routed_experts", narrow}}) {
    const LanguageFamily& family = named(name);
    Json config = {{"model_type", family.model_types[0]},
                   {"vocab_size", 16},
                   {"hidden_size", 32},
                   {"intermediate_size", 32},
                   {"num_hidden_layers", 2},
                   {"num_attention_heads", 4},
                   {"num_key_value_heads", 2},
                   {"num_experts_per_tok", 2}};
    config.update(more);
    config[key] = 5;
    ThreadPool threads(1);
    write_seeded_file(folder / "model.safetensors", network_shapes(family, Config::parse(config.dump(), "config.json")), DType::f32,
                      threads);
    for (const int64_t stated : {4, 6}) {
      config[key] = stated;
      write_file(folder / "config.json", config.dump());
      EXPECT_EQ(test::message_of<WeightError>([&] { load_language_model(family, open_language_checkpoint(folder.path()), *device); },
                                              folder.path()),
                fmt::format("FOLDER/config.json: '{}' = {}, but the tensors have 5 experts", key, stated))
          << name;
    }
    config.erase(key);
    write_file(folder / "config.json", config.dump());
    EXPECT_NE(
        test::message_of<WeightError>([&] { load_language_model(family, open_language_checkpoint(folder.path()), *device); }, folder.path())
            .find(key),
        std::string::npos)
        << name;
  }
}

}  // namespace
}  // namespace hearth::models
