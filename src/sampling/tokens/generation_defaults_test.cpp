#include "sampling/tokens/generation_defaults.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"
#include "support/files.h"

namespace hearth::sampling {
namespace {

using Ids = std::vector<int32_t>;
constexpr float infinity = std::numeric_limits<float>::infinity();

GenerationDefaults read(const std::string& text) { return GenerationDefaults::read(Config::parse(text, "g.json")); }

std::string complaint(const std::string& text) {
  return test::message_of<WeightError>([&] { read(text); });
}

const char* chat = R"({"bos_token_id": 5, "pad_token_id": -1, "do_sample": true, "eos_token_id": [7, 8], "repetition_penalty": 1.05,
                       "temperature": 0.7, "top_p": 0.8, "top_k": 20, "min_p": 0.01, "typical_p": 0.9, "epsilon_cutoff": 0.001, "eta_cutoff": 0.002,
                       "max_length": 4096, "max_new_tokens": 100, "stop_strings": "###", "transformers_version": "4.37.0", "_from_model_config": true})";

TEST(GenerationDefaults, a_published_file) {
  const auto d = read(chat);
  EXPECT_TRUE(d.do_sample);
  EXPECT_EQ(d.temperature, 0.7);
  EXPECT_EQ(d.top_p, 0.8);
  EXPECT_EQ(d.top_k, 20);
  EXPECT_EQ(d.repetition_penalty, 1.05);
  EXPECT_EQ(d.eos_token_ids, (Ids{7, 8}));
  EXPECT_EQ(d.bos_token_id, 5);
  EXPECT_EQ(d.pad_token_id, std::nullopt);
  EXPECT_EQ(d.max_length, 4096);
  EXPECT_EQ(d.max_new_tokens, 100);
  EXPECT_EQ(d.stop_strings, (std::vector<std::string>{"###"}));
  EXPECT_TRUE(d.warnings.empty());
  EXPECT_EQ(read(R"({"eos_token_id": 2, "pad_token_id": 0, "stop_strings": ["a", "b"]})").eos_token_ids, (Ids{2}));
  EXPECT_EQ(read(R"({"eos_token_id": 2, "pad_token_id": 0})").pad_token_id, 0);
  EXPECT_EQ(read(R"({"stop_strings": ["a", "b"]})").stop_strings, (std::vector<std::string>{"a", "b"}));
  const auto empty = read(R"({"eos_token_id": null, "top_k": null})");
  EXPECT_TRUE(empty.eos_token_ids.empty());
  EXPECT_EQ(empty.top_k, std::nullopt);
  EXPECT_FALSE(empty.do_sample);
}

TEST(GenerationDefaults, rules_for_tokens) {
  const auto d =
      read(R"({"suppress_tokens": [1, 2], "begin_suppress_tokens": [3], "no_repeat_ngram_size": 4, "min_new_tokens": 5, "min_length": 6,
                          "eos_token_id": [9, 10], "sequence_bias": [[[1, 2], -1.5], [[3], 2]], "bad_words_ids": [[4, 5], [9], [10, 9]]})");
  const SamplingParameters p = resolve(d, {.temperature = 0});
  EXPECT_EQ(p.suppress_tokens, (Ids{1, 2}));
  EXPECT_EQ(p.begin_suppress_tokens, (Ids{3}));
  EXPECT_EQ(p.no_repeat_ngram_size, 4);
  EXPECT_EQ(p.min_new_tokens, 5);
  EXPECT_EQ(p.min_length, 6);
  EXPECT_EQ(p.end_tokens, (Ids{9, 10}));
  ASSERT_EQ(p.sequence_bias.size(), 4u);
  EXPECT_EQ(p.sequence_bias[0].tokens, (Ids{1, 2}));
  EXPECT_EQ(p.sequence_bias[0].bias, -1.5f);
  EXPECT_EQ(p.sequence_bias[2].tokens, (Ids{4, 5}));
  EXPECT_EQ(p.sequence_bias[2].bias, -infinity);
  EXPECT_EQ(p.sequence_bias[3].tokens, (Ids{10, 9}));
}

TEST(GenerationDefaults, ignored_keys_are_named) {
  EXPECT_EQ(read(R"({"num_beams": 4, "guidance_scale": 1.5, "frobnicate": [1], "forced_bos_token_id": 3})").warnings,
            (std::vector<std::string>{"g.json: 'forced_bos_token_id' 3 is ignored", "g.json: 'frobnicate' [1] is ignored",
                                      "g.json: 'guidance_scale' 1.5 is ignored", "g.json: 'num_beams' 4 is ignored"}));
  EXPECT_TRUE(read(R"({"num_beams": 1, "diversity_penalty": 0, "remove_invalid_values": false, "guidance_scale": null, "use_cache": false,
                       "early_stopping": true, "_x": 1})")
                  .warnings.empty());
}

TEST(GenerationDefaults, wrong_values_name_file_and_key) {
  EXPECT_EQ(complaint(R"({"top_p": 1.5})"), "g.json: 'top_p' is 1.5, expected a number from 0 to 1");
  EXPECT_EQ(complaint(R"({"temperature": -1})"), "g.json: 'temperature' is -1, expected a number of at least 0");
  EXPECT_EQ(complaint(R"({"top_k": -1})"), "g.json: 'top_k' is -1, expected 0 (off) or more");
  EXPECT_EQ(complaint(R"({"min_p": 2})"), "g.json: 'min_p' is 2, expected a number from 0 to 1");
  EXPECT_EQ(complaint(R"({"typical_p": 2})"), "g.json: 'typical_p' is 2, expected a number above 0, up to 1");
  EXPECT_EQ(complaint(R"({"epsilon_cutoff": 1})"), "g.json: 'epsilon_cutoff' is 1, expected a number from 0 to below 1");
  EXPECT_EQ(complaint(R"({"eta_cutoff": 1})"), "g.json: 'eta_cutoff' is 1, expected a number from 0 to below 1");
  EXPECT_EQ(complaint(R"({"repetition_penalty": 0})"), "g.json: 'repetition_penalty' is 0, expected a number above 0");
  EXPECT_EQ(complaint(R"({"no_repeat_ngram_size": -1})"), "g.json: 'no_repeat_ngram_size' is -1, expected 0 (off) or more");
  EXPECT_EQ(complaint(R"({"min_new_tokens": -1})"), "g.json: 'min_new_tokens' is -1, expected 0 or more");
  EXPECT_EQ(complaint(R"({"min_length": -1})"), "g.json: 'min_length' is -1, expected 0 or more");
  EXPECT_EQ(complaint(R"({"eos_token_id": [1, "x"]})"), "g.json: 'eos_token_id' is [1,\"x\"], expected a token id or a list of them");
  EXPECT_EQ(complaint(R"({"eos_token_id": -2})"), "g.json: 'eos_token_id' is -2, expected a token id or a list of them");
  EXPECT_EQ(complaint(R"({"eos_token_id": 3000000000})"), "g.json: 'eos_token_id' is 3000000000, expected a token id or a list of them");
  EXPECT_EQ(complaint(R"({"bos_token_id": [1, 2]})"), "g.json: 'bos_token_id' is [1,2], expected one token id");
  EXPECT_EQ(complaint(R"({"suppress_tokens": 3})"), "g.json: 'suppress_tokens' is 3, expected a list of token ids");
  EXPECT_EQ(complaint(R"({"suppress_tokens": [-1]})"), "g.json: 'suppress_tokens' is [-1], expected a list of token ids");
  for (const char* words : {"[[]]", "[3]", "[[-1]]", "3"})
    EXPECT_EQ(complaint(fmt::format(R"({{"bad_words_ids": {}}})", words)),
              fmt::format("g.json: 'bad_words_ids' is {}, expected lists of token ids", words));
  for (const char* pairs : {"3", "[3]", "[[[1]]]", "[[1,2]]", "[[[],2]]", "[[[1],\"x\"]]", "[[[-1],2]]", "[[[1],null]]", "[[[1],1e+39]]"})
    EXPECT_EQ(complaint(fmt::format(R"({{"sequence_bias": {}}})", pairs)),
              fmt::format("g.json: 'sequence_bias' is {}, expected a list of pairs of token ids and a number", pairs));
  EXPECT_NE(complaint(R"({"do_sample": "yes"})"), "");
  EXPECT_NE(complaint(R"({"stop_strings": [1]})"), "");
}

// Every byte replaced, removed and doubled, and every prefix: a result or an error of ours.
TEST(GenerationDefaults, no_file_does_worse_than_an_error) {
  const std::string text =
      R"({"do_sample":true,"top_k":20,"eos_token_id":[7,8],"sequence_bias":[[[1,2],-1.5]],"bad_words_ids":[[4,5]],"stop_strings":["#"]})";
  int errors = 0, files = 0;
  const auto attempt = [&](const std::string& changed) {
    ++files;
    try {
      resolve(read(changed), {});
    } catch (const Error&) { ++errors; }
  };
  for (size_t i = 0; i < text.size(); ++i) {
    attempt(text.substr(0, i));
    attempt(text.substr(0, i) + text.substr(i + 1));
    attempt(text.substr(0, i) + text[i] + text.substr(i));
    for (const char c : {'0', '-', 'e', '[', ']', '"', ',', '}', ' ', '\x80', '\0'}) {
      std::string changed = text;
      changed[i] = c;
      attempt(changed);
    }
  }
  EXPECT_GT(errors, files / 2);
  EXPECT_LT(errors, files);
}

TEST(Resolve, the_file_decides_without_a_request) {
  const SamplingParameters p = resolve(read(chat), {});
  EXPECT_EQ(p.temperature, 0.7);
  EXPECT_EQ(p.top_k, 20);
  EXPECT_EQ(p.top_p, 0.8);
  EXPECT_EQ(p.min_p, 0.01);
  EXPECT_EQ(p.typical_p, 0.9);
  EXPECT_EQ(p.epsilon_cutoff, 0.001);
  EXPECT_EQ(p.eta_cutoff, 0.002);
  EXPECT_EQ(p.repetition_penalty, 1.05);
  EXPECT_EQ(p.end_tokens, (Ids{7, 8}));
  EXPECT_EQ(p.order, sampling_order("hf"));
  EXPECT_EQ(p.repeat_last_n, -1);
  EXPECT_EQ(resolve(read(R"({"do_sample": true})"), {}).temperature, 1);
  EXPECT_EQ(resolve(read(R"({"do_sample": true})"), {}).top_k, 0);
}

TEST(Resolve, without_do_sample_the_answer_is_greedy_but_penalized) {
  for (const char* file : {R"({"temperature": 0.6, "repetition_penalty": 1.2})", R"({"do_sample": false, "repetition_penalty": 1.2})"}) {
    const SamplingParameters p = resolve(read(file), {});
    EXPECT_EQ(p.temperature, 0);
    EXPECT_EQ(p.repetition_penalty, 1.2);
  }
  EXPECT_EQ(resolve({}, {}).temperature, 0);
}

TEST(Resolve, temperature_0_takes_no_sampling_value_of_the_file) {
  const SamplingParameters p = resolve(read(chat), {.temperature = 0});
  EXPECT_EQ(p.temperature, 0);
  EXPECT_EQ(p.repetition_penalty, 1);
  EXPECT_EQ(p.top_k, 0);
  EXPECT_EQ(p.end_tokens, (Ids{7, 8}));
  EXPECT_EQ(resolve(read(chat), {.temperature = 0, .repetition_penalty = 1.5}).repetition_penalty, 1.5);
}

TEST(Resolve, the_request_comes_first) {
  const SamplingParameters p = resolve(read(chat), {.temperature = 2, .top_p = 1, .repetition_penalty = 1, .top_k = 0});
  EXPECT_EQ(p.temperature, 2);
  EXPECT_EQ(p.top_p, 1);
  EXPECT_EQ(p.top_k, 0);
  EXPECT_EQ(p.repetition_penalty, 1);
  EXPECT_EQ(p.min_p, 0.01);  // the file's other values apply
  const SamplingParameters all = resolve(read(R"({"sequence_bias": [[[1], 1]]})"), {.temperature = 0.5,
                                                                                    .top_p = 0.1,
                                                                                    .min_p = 0.2,
                                                                                    .typical_p = 0.3,
                                                                                    .epsilon_cutoff = 0.4,
                                                                                    .eta_cutoff = 0.5,
                                                                                    .top_n_sigma = 0.6,
                                                                                    .xtc_probability = 0.7,
                                                                                    .xtc_threshold = 0.8,
                                                                                    .mirostat_tau = 0.9,
                                                                                    .mirostat_eta = 0.11,
                                                                                    .repetition_penalty = 1.2,
                                                                                    .presence_penalty = 1.3,
                                                                                    .frequency_penalty = 1.4,
                                                                                    .dry_multiplier = 1.5,
                                                                                    .dry_base = 1.6,
                                                                                    .top_k = 17,
                                                                                    .mirostat = 2,
                                                                                    .repeat_last_n = 18,
                                                                                    .dry_allowed_length = 19,
                                                                                    .dry_last_n = 20,
                                                                                    .dry_breakers = {{{21}}},
                                                                                    .seed = 22,
                                                                                    .logit_bias = {{23, 24.0f}}});
  EXPECT_EQ((std::vector<double>{all.temperature, all.top_p, all.min_p, all.typical_p, all.epsilon_cutoff, all.eta_cutoff, all.top_n_sigma,
                                 all.xtc_probability, all.xtc_threshold, all.mirostat_tau, all.mirostat_eta, all.repetition_penalty,
                                 all.presence_penalty, all.frequency_penalty, all.dry.multiplier, all.dry.base}),
            (std::vector<double>{0.5, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.11, 1.2, 1.3, 1.4, 1.5, 1.6}));
  EXPECT_EQ((std::vector<int64_t>{all.top_k, all.mirostat, all.repeat_last_n, all.dry.allowed_length, all.dry.last_n}),
            (std::vector<int64_t>{17, 2, 18, 19, 20}));
  EXPECT_EQ(all.dry.breakers, (std::vector<Ids>{{21}}));
  EXPECT_EQ(all.seed, 22u);
  ASSERT_EQ(all.sequence_bias.size(), 2u);
  EXPECT_EQ(all.sequence_bias[1].tokens, (Ids{23}));
  EXPECT_EQ(all.sequence_bias[1].bias, 24.0f);
}

TEST(Resolve, a_filter_asks_for_a_draw) {
  const auto temperature = [](const char* file, const SamplingRequest& request) { return resolve(read(file), request).temperature; };
  EXPECT_EQ(temperature("{}", {.top_p = 0.9}), 1);
  EXPECT_EQ(temperature(R"({"temperature": 0.6})", {.top_p = 0.9}), 0.6);
  EXPECT_EQ(temperature("{}", {.min_p = 0.1}), 1);
  EXPECT_EQ(temperature("{}", {.typical_p = 0.1}), 1);
  EXPECT_EQ(temperature("{}", {.epsilon_cutoff = 0.1}), 1);
  EXPECT_EQ(temperature("{}", {.eta_cutoff = 0.1}), 1);
  EXPECT_EQ(temperature("{}", {.top_n_sigma = 1}), 1);
  EXPECT_EQ(temperature("{}", {.xtc_probability = 0.1}), 1);
  EXPECT_EQ(temperature("{}", {.top_k = 4}), 1);
  EXPECT_EQ(temperature("{}", {.mirostat = 2}), 1);
  EXPECT_EQ(temperature("{}", {.mirostat = 0}), 0);
  EXPECT_EQ(temperature("{}", {.repetition_penalty = 1.1, .seed = 3}), 0);
  EXPECT_EQ(temperature("{}", {.temperature = 0, .top_p = 0.9}), 0);
}

TEST(Resolve, mirostat_takes_no_filter_it_was_not_asked_for) {
  const SamplingParameters p = resolve(read(chat), {.min_p = 0.3, .mirostat = 2});
  EXPECT_EQ(p.temperature, 0.7);
  EXPECT_EQ(p.repetition_penalty, 1.05);
  EXPECT_EQ(p.top_k, 0);
  EXPECT_EQ(p.top_p, 1);
  EXPECT_EQ(p.typical_p, 1);
  EXPECT_EQ(p.epsilon_cutoff, 0);
  EXPECT_EQ(p.eta_cutoff, 0);
  EXPECT_EQ(p.min_p, 0.3);
}

TEST(Resolve, llama_cpp_brings_its_own_defaults) {
  const SamplingParameters p = resolve(read(chat), {.top_p = 0.5, .order = "llama.cpp"});
  EXPECT_EQ(p.order, sampling_order("llama.cpp"));
  EXPECT_EQ(p.temperature, 0.8);
  EXPECT_EQ(p.top_k, 40);
  EXPECT_EQ(p.top_p, 0.5);
  EXPECT_EQ(p.min_p, 0.05);
  EXPECT_EQ(p.repeat_last_n, 64);
  EXPECT_EQ(p.repetition_penalty, 1);
  EXPECT_EQ(p.typical_p, 1);
  EXPECT_EQ(resolve({}, {.order = "llama.cpp"}).top_p, 0.95);
  EXPECT_EQ(resolve({}, {.temperature = 0, .order = "llama.cpp"}).temperature, 0);
  EXPECT_EQ(resolve({}, {.mirostat = 2, .order = "llama.cpp"}).top_k, 0);
  EXPECT_EQ(resolve({}, {.mirostat = 2, .order = "llama.cpp"}).min_p, 0);
  EXPECT_EQ(resolve({}, {.mirostat = 2, .order = "llama.cpp"}).top_p, 1);
}

TEST(Resolve, a_file_value_is_left_out_where_the_order_lacks_its_stage) {
  const SamplingParameters p = resolve(read(chat), {.order = "top_k"});
  EXPECT_EQ(p.top_k, 20);
  EXPECT_EQ(p.temperature, 1);
  EXPECT_EQ(p.top_p, 1);
  EXPECT_EQ(resolve(read(chat), {.order = "temperature"}).top_k, 0);
  EXPECT_EQ(test::message_of<UsageError>([] { resolve({}, {.top_p = 0.5, .order = "top_k"}); }),
            "--sampling-order: top_p is set but not listed, expected top_p in the order");
  EXPECT_EQ(test::message_of<UsageError>([] { resolve({}, {.temperature = -1}); }), "--temperature -1: expected a number of at least 0");
}

TEST(Resolve, without_a_seed_there_is_a_fresh_one) {
  EXPECT_NE(resolve({}, {}).seed, resolve({}, {}).seed);
  EXPECT_EQ(resolve({}, {.seed = 0}).seed, 0u);
}

}  // namespace
}  // namespace hearth::sampling
