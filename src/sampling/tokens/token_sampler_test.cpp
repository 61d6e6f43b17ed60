#include "sampling/tokens/token_sampler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "sampling/tokens/counter_random.h"
#include "sampling/tokens/generation_defaults.h"
#include "support/files.h"
#include "support/golden.h"

namespace hearth::sampling {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;
constexpr float infinity = std::numeric_limits<float>::infinity();

const Json& golden() {
  static const Json json = load_json(test::folder_of(__FILE__) / "golden/tokens.json");
  return json;
}

std::vector<float> row(const Json& entry) { return golden()["rows"][entry["row"].get<std::string>()].get<std::vector<float>>(); }

template <class T> void read(std::optional<T>& to, const Json& from, const char* key) {
  if (from.contains(key)) to = from[key].get<T>();
}

SamplingRequest request_of(const Json& j) {
  SamplingRequest r;
  read(r.temperature, j, "temperature");
  read(r.top_k, j, "top_k");
  read(r.top_p, j, "top_p");
  read(r.min_p, j, "min_p");
  read(r.typical_p, j, "typical_p");
  read(r.epsilon_cutoff, j, "epsilon_cutoff");
  read(r.eta_cutoff, j, "eta_cutoff");
  read(r.top_n_sigma, j, "top_n_sigma");
  read(r.xtc_probability, j, "xtc_probability");
  read(r.xtc_threshold, j, "xtc_threshold");
  read(r.mirostat, j, "mirostat");
  read(r.mirostat_tau, j, "mirostat_tau");
  read(r.mirostat_eta, j, "mirostat_eta");
  read(r.repetition_penalty, j, "repetition_penalty");
  read(r.presence_penalty, j, "presence_penalty");
  read(r.frequency_penalty, j, "frequency_penalty");
  read(r.repeat_last_n, j, "repeat_last_n");
  read(r.dry_multiplier, j, "dry_multiplier");
  read(r.dry_base, j, "dry_base");
  read(r.dry_allowed_length, j, "dry_allowed_length");
  read(r.dry_breakers, j, "dry_breakers");
  for (const Json& bias : j.value("logit_bias", Json::array())) r.logit_bias.emplace_back(bias[0], bias[1]);
  r.order = j.value("order", "");
  return r;
}

TokenSampler sampler_after(const SamplingParameters& p, const Ids& prompt, const Ids& answer) {
  TokenSampler sampler(p);
  sampler.start(prompt);
  for (const int32_t token : answer) sampler.push(token);
  return sampler;
}

// generation_config.json → parameters → candidates, compared with the list of processors that transformers builds from the same file.
TEST(TokenSampler, chains_equal_those_of_transformers) {
  for (const Json& entry : golden()["chains"]) {
    const Ids context = entry["context"];
    const size_t prompt = context.size() - entry["answer"].get<size_t>();
    const auto file = GenerationDefaults::read(Config::parse(entry["file"].dump(), "file"));
    auto sampler =
        sampler_after(resolve(file, {}), Ids(context.begin(), context.begin() + prompt), Ids(context.begin() + prompt, context.end()));
    Candidates c = sampler.candidates(row(entry));
    EXPECT_EQ(c.id, entry["kept"].get<Ids>()) << entry["file"];
    std::vector<float> scores;
    for (const int32_t id : c.id) scores.push_back(row(entry)[id]);
    if (entry.contains("scores")) scores = entry["scores"].get<std::vector<float>>();
    EXPECT_EQ(c.score, scores) << entry["file"];
  }
}

// Wilson & Hilferty 1931: how many standard deviations χ² is above its mean.
double deviation_of(double chi2, double freedom) {
  const double v = 2 / (9 * freedom);
  return (std::cbrt(chi2 / freedom) - (1 - v)) / std::sqrt(v);
}

// 200 000 draws per chain, the n-th with seed n, compared with the distribution computed by golden/make.py.
TEST(TokenSampler, draws_have_the_analytic_distribution) {
  const int draws = 200000;
  for (const Json& entry : golden()["draws"]) {
    SamplingParameters parameters = resolve({}, request_of(entry["request"]));
    const std::vector<float> logits = row(entry);
    const std::vector<double> p = entry["p"];
    const Ids prompt = entry["prompt"], answer = entry["answer"];
    std::vector<int> count(p.size());
    for (int i = 0; i < draws; ++i) {
      parameters.seed = i;
      ++count[sampler_after(parameters, prompt, answer).next(logits)];
    }

    double chi2 = 0, rest_expected = 0;
    int cells = 0, rest = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      EXPECT_TRUE(p[i] > 0 || count[i] == 0) << "token " << i << " of " << entry["request"];
      if (p[i] * draws < 10) {
        rest_expected += p[i] * draws;
        rest += count[i];
        continue;
      }
      chi2 += std::pow(count[i] - p[i] * draws, 2) / (p[i] * draws);
      ++cells;
    }
    if (rest_expected > 5) chi2 += std::pow(rest - rest_expected, 2) / rest_expected, ++cells;
    EXPECT_LT(std::abs(deviation_of(chi2, cells - 1)), 3) << entry["request"] << ": chi2 " << chi2 << " with " << cells << " cells";
  }
}

// One completion of 200 000 tokens from one seed: its positions are as random as seeds.
TEST(TokenSampler, positions_of_an_answer_are_independent_draws) {
  const std::vector<float> logits{0, std::log(2.0f), std::log(3.0f), std::log(4.0f)};
  TokenSampler sampler({.seed = 7});
  std::vector<int> single(4), pairs(16);
  int32_t last = 0;
  for (int i = 0; i < 200000; ++i) {
    const int32_t token = sampler.next(logits);
    sampler.push(token);
    ++single[token];
    if (i % 2 == 1) ++pairs[4 * last + token];
    last = token;
  }
  double chi2 = 0, chi2_of_pairs = 0;
  for (int i = 0; i < 16; ++i) {
    if (i < 4) chi2 += std::pow(single[i] - 20000.0 * (i + 1), 2) / (20000.0 * (i + 1));
    const double expected = 1000.0 * (i / 4 + 1) * (i % 4 + 1);
    chi2_of_pairs += std::pow(pairs[i] - expected, 2) / expected;
  }
  EXPECT_LT(std::abs(deviation_of(chi2, 3)), 3);
  EXPECT_LT(std::abs(deviation_of(chi2_of_pairs, 15)), 3);
}

TEST(TokenSampler, mirostat_brings_the_surprise_to_its_target) {
  const std::vector<float> logits = row({{"row", "wide"}});
  for (const double tau : {2.0, 4.0}) {
    TokenSampler sampler({.mirostat = 2, .mirostat_tau = tau, .mirostat_eta = 0.05, .seed = 3});
    EXPECT_EQ(sampler.mu(), 2 * tau);
    sampler.start({});
    EXPECT_EQ(sampler.mu(), 2 * tau);
    double surprise = 0;
    const int count = 3000;
    for (int i = 0; i < count; ++i) {
      const double mu = sampler.mu();
      const Candidates c = sampler.candidates(logits);
      const int32_t token = sampler.next(logits);
      sampler.push(token);
      const size_t at = std::find(c.id.begin(), c.id.end(), token) - c.id.begin();
      const double bits = -std::log2(double(c.p[at]));
      EXPECT_NEAR(sampler.mu(), mu - 0.05 * (bits - tau), 1e-9);
      surprise += bits / count;
    }
    EXPECT_NEAR(surprise, tau, 0.05);
    sampler.start({});
    EXPECT_EQ(sampler.mu(), 2 * tau);
  }
}

TEST(TokenSampler, the_same_seed_gives_the_same_tokens) {
  const std::vector<float> logits = row({{"row", "wide"}});
  const auto answer = [&](uint64_t seed, int skip) {
    TokenSampler sampler({.temperature = 1.3, .top_p = 0.9, .xtc_probability = 0.5, .repetition_penalty = 1.2, .seed = seed});
    sampler.start(Ids{1, 2, 3});
    Ids tokens;
    for (int i = 0; i < 50; ++i) {
      for (int k = 0; k < skip; ++k) sampler.next(logits);  // calling twice changes nothing
      tokens.push_back(sampler.next(logits));
      sampler.push(tokens.back());
    }
    return tokens;
  };
  EXPECT_EQ(answer(5, 0), answer(5, 2));
  EXPECT_NE(answer(5, 0), answer(6, 0));
  EXPECT_NE(answer(5, 0), answer(5 + (uint64_t(1) << 32), 0));
}

TEST(TokenSampler, temperature_0_takes_the_largest_and_the_lowest_id_among_equals) {
  TokenSampler greedy({.temperature = 0, .top_k = 1, .typical_p = 0.1, .xtc_probability = 1, .xtc_threshold = 0, .mirostat = 2});
  EXPECT_EQ(greedy.next(std::vector<float>{1, 3, 2, 3}), 1);
  TokenSampler penalized({.temperature = 0, .repetition_penalty = 2});
  penalized.start(Ids{1});
  EXPECT_EQ(penalized.next(std::vector<float>{1, 3, 2, -3}), 2);
  TokenSampler biased({.temperature = 0, .sequence_bias = {{{3}, 7.5f}, {{1}, -infinity}}});
  EXPECT_EQ(biased.next(std::vector<float>{1, 3, 2, -3}), 3);
}

TEST(TokenSampler, windows_and_who_is_counted) {
  const std::vector<float> logits(6, 1.0f);
  const auto scores = [&](SamplingParameters p) {
    p.temperature = 0;
    return sampler_after(p, {0, 1, 1}, {2, 3, 2}).candidates(logits).score;
  };
  using Scores = std::vector<float>;
  EXPECT_EQ(scores({.repetition_penalty = 2}), (Scores{0.5, 0.5, 0.5, 0.5, 1, 1}));
  EXPECT_EQ(scores({.repetition_penalty = 2, .repeat_last_n = 4}), (Scores{1, 0.5, 0.5, 0.5, 1, 1}));
  EXPECT_EQ(scores({.repetition_penalty = 2, .repeat_last_n = 2}), (Scores{1, 1, 0.5, 0.5, 1, 1}));
  EXPECT_EQ(scores({.repetition_penalty = 2, .repeat_last_n = 0}), (Scores{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(scores({.presence_penalty = 0.25}), (Scores{1, 1, 0.75, 0.75, 1, 1}));
  EXPECT_EQ(scores({.frequency_penalty = 0.25}), (Scores{1, 1, 0.5, 0.75, 1, 1}));
  EXPECT_EQ(scores({.frequency_penalty = 0.25, .repeat_last_n = 2}), (Scores{1, 1, 0.75, 0.75, 1, 1}));
  EXPECT_EQ(scores({.repetition_penalty = 2, .presence_penalty = -0.5, .frequency_penalty = 0.25}), (Scores{0.5, 0.5, 0.5, 0.75, 1, 1}));
}

TEST(TokenSampler, start_forgets_what_was_before) {
  TokenSampler sampler({.repetition_penalty = 2, .presence_penalty = 0.25, .no_repeat_ngram_size = 2});
  sampler.start(Ids{4});
  for (const int32_t token : {5, 0, 3}) sampler.push(token);
  sampler.start(Ids{0});
  EXPECT_EQ(sampler.history().tokens, (Ids{0}));
  EXPECT_EQ(sampler.history().answered(), 0);
  EXPECT_EQ(sampler.candidates(std::vector<float>(6, 1.0f)).score, (std::vector<float>{0.5, 1, 1, 1, 1, 1}));
}

TEST(TokenSampler, the_order_matters) {
  // After temperature 2 three tokens are needed for 0.8, before it two.
  const std::vector<float> logits{3, 2, 1, 0};
  TokenSampler hf({.temperature = 2, .top_p = 0.8}), llama({.temperature = 2, .top_p = 0.8, .order = sampling_order("llama.cpp")});
  EXPECT_EQ(hf.candidates(logits).id, (Ids{0, 1, 2}));
  EXPECT_EQ(llama.candidates(logits).id, (Ids{0, 1}));
  EXPECT_EQ(llama.candidates(logits).score, (std::vector<float>{1.5, 1}));
  TokenSampler late({.top_k = 1, .repetition_penalty = 100, .order = sampling_order("top_k,penalties")});
  late.start(Ids{0, 3});
  EXPECT_EQ(late.next(logits), 0);
}

TEST(TokenSampler, padded_rows_are_never_chosen) {
  const std::vector<float> logits{1, 2, 3, 50, 60};
  TokenSampler sampler({.temperature = 0, .vocabulary = 3});
  EXPECT_EQ(sampler.next(logits), 2);
  EXPECT_EQ(sampler.candidates(logits).size(), 3u);
  EXPECT_EQ(TokenSampler({.temperature = 0}).next(logits), 4);
  EXPECT_EQ(TokenSampler({.temperature = 0, .vocabulary = 5}).next(logits), 4);
  EXPECT_EQ(TokenSampler({.temperature = 0, .vocabulary = 1}).next(logits), 0);
  EXPECT_EQ(test::message_of<ShapeError>([&] {
              sampler.next(std::vector<float>{1, 2});
            }),
            "token sampling: got 2 logits, expected one for each of 3 tokens");
}

TEST(TokenSampler, bad_rows_and_impossible_rules_are_one_line) {
  TokenSampler sampler({});
  EXPECT_EQ(test::message_of<NonFiniteError>([&] {
              sampler.next(std::vector<float>{1, NAN, 2});
            }),
            "logits: 1 of 3 values is not finite, the first is nan at token 1, expected finite values");
  TokenSampler biased({.sequence_bias = {{{1, 3}, 1.0f}}});
  EXPECT_EQ(test::message_of<UsageError>([&] {
              biased.next(std::vector<float>{1, 2, 3});
            }),
            "--logit-bias: token 3 does not exist, expected an id below 3");
  const char* nothing = "token sampling: the logit bias and the forbidden tokens exclude all tokens, expected at least one allowed token";
  for (const double temperature : {0.0, 1.0}) {
    TokenSampler none({.temperature = temperature, .top_k = 2, .top_p = 0.5, .suppress_tokens = {0, 1, 2}});
    EXPECT_EQ(test::message_of<UsageError>([&] { none.next(std::vector<float>{1, 2, 3}); }), nothing);
  }
  EXPECT_EQ(test::message_of<UsageError>([] { TokenSampler({.temperature = -1}); }), "--temperature -1: expected a number of at least 0");
}

TEST(CounterRandom, takes_the_first_two_words_of_the_block) {
  EXPECT_EQ(uniform_at(0, 0, 0), double(0xe169c58d6627e8d5 >> 11) * 0x1p-53);
  EXPECT_EQ(uniform_at(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e), double(0x94fdccebd16cfe09 >> 11) * 0x1p-53);
}

}  // namespace
}  // namespace hearth::sampling
