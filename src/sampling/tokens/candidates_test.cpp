#include "sampling/tokens/candidates.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "sampling/tokens/exponentials.h"
#include "sampling/tokens/penalties.h"
#include "sampling/tokens/token_sampler.h"
#include "support/files.h"
#include "support/golden.h"

namespace hearth::sampling {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

const Json& golden() {
  static const Json json = load_json(test::folder_of(__FILE__) / "golden/tokens.json");
  return json;
}

Candidates row(const Json& entry) {
  Candidates c;
  c.assign(golden()["rows"][entry["row"].get<std::string>()].get<std::vector<float>>());
  return c;
}

void apply(Candidates& c, const Json& entry) {
  const std::string name = entry["name"];
  const Json& parameter = entry["parameter"];
  const Ids context = entry["context"];
  if (name == "temperature") return apply_temperature(c, parameter);
  if (name == "top_k") return top_k(c, parameter);
  if (name == "top_p") return top_p(c, parameter);
  if (name == "min_p") return min_p(c, parameter);
  if (name == "typical_p") return typical(c, parameter);
  if (name == "epsilon_cutoff") return epsilon_cutoff(c, parameter);
  if (name == "eta_cutoff") return eta_cutoff(c, parameter);
  if (name == "no_repeat_ngram_size") return forbid_repeated_ngrams(c, context, parameter);
  if (name == "repetition_penalty") {
    History history;
    history.start(context);
    return apply_repetition_penalty(c, history, parameter);
  }
  std::vector<SequenceBias> biases;
  for (const Json& entry_of_list : parameter)
    if (name == "sequence_bias") biases.push_back({entry_of_list[0].get<Ids>(), entry_of_list[1].get<float>()});
    else if (entry_of_list != Json{2}) biases.push_back({entry_of_list.get<Ids>(), -std::numeric_limits<float>::infinity()});
  apply_sequence_bias(c, context, biases);
}

// Ids and scores; tokens with −∞ are removed.
void expect_equal(Candidates c, const Json& expected, const std::string& what) {
  c.keep([&](size_t i) { return std::isfinite(c.score[i]); });
  EXPECT_EQ(c.id, expected["kept"].get<Ids>()) << what;
  const Json scores = expected.value("scores", Json(c.score));
  EXPECT_EQ(c.score, scores.get<std::vector<float>>()) << what;
}

TEST(Candidates, every_processor_equals_transformers_bit_for_bit) {
  int count = 0;
  for (const Json& entry : golden()["processors"]) {
    Candidates c = row(entry);
    const std::vector<float> before = c.score;
    apply(c, entry);
    expect_equal(c, entry, fmt::format("{} {} on {}", entry["name"].dump(), entry["parameter"].dump(), entry["row"].dump()));
    for (size_t i = 0; i < c.size() && !entry.contains("scores"); ++i)
      EXPECT_TRUE(c.score[i] == before[c.id[i]] || std::isinf(c.score[i])) << entry["name"] << " changes a score";
    ++count;
  }
  EXPECT_EQ(count, 339);
}

TEST(Candidates, what_transformers_lacks_equals_its_description) {
  for (const char* name : {"xtc", "mirostat", "top_n_sigma"})
    for (const Json& entry : golden()["described"][name]) {
      Candidates c = row(entry);
      const double parameter = entry["parameter"];
      if (name == std::string("xtc")) exclude_top_choices(c, parameter);
      else if (name == std::string("mirostat")) truncate_surprise(c, parameter);
      else top_n_sigma(c, parameter);
      expect_equal(c, entry, fmt::format("{} {} on {}", name, entry["parameter"].dump(), entry["row"].dump()));
    }
}

TEST(Candidates, dry_equals_its_description) {
  for (const Json& entry : golden()["described"]["dry"]) {
    Candidates c;
    c.assign(std::vector<float>(16, 100.0f));
    const DryPenalty penalty({.multiplier = entry["multiplier"],
                              .base = entry["base"],
                              .allowed_length = entry["allowed_length"],
                              .last_n = entry["last_n"],
                              .breakers = entry["breakers"]});
    penalty.apply(c, entry["context"].get<Ids>());
    std::vector<float> expected(16, 100.0f);
    for (const Json& lost : entry["lost"]) expected[lost[0].get<int>()] -= lost[1].get<float>();
    for (int i = 0; i < 16; ++i) EXPECT_FLOAT_EQ(c.score[i], expected[i]) << "token " << i << " after " << entry["context"].dump();
  }
}

TEST(Candidates, dry_stays_finite_however_long_the_repetition) {
  Candidates c;
  c.assign(std::vector<float>(4, 0.0f));
  const Ids context(2000, 3);
  DryPenalty({.multiplier = 0.5, .base = 1.75}).apply(c, context);
  EXPECT_TRUE(std::isfinite(c.score[3]));
  EXPECT_LT(c.score[3], -1e37f);
  c.assign(std::vector<float>(4, 0.0f));
  DryPenalty({.multiplier = 0.5, .base = 1}).apply(c, context);
  EXPECT_EQ(c.score[3], -0.5f);
}

TEST(Candidates, dry_breakers_from_text) {
  const std::vector<std::string> pieces{"a", "\n", "b:\n", ":", "x", "<e", "nd>", "<", "end>", "n", "<end", "<<", "a<end>b"};
  const std::map<std::string, Ids> rests{{"nd>", {6}}, {"end>", {9, 8}}, {">", {4}}};
  const auto encode = [&](const std::string& text) { return rests.at(text); };
  const std::vector<std::string> texts{"\n", "<end>", ":\n"};
  EXPECT_EQ(dry_breakers(texts, pieces, [&](const std::string& text) { return text == "\n" ? Ids{1} : encode(text); }),
            (std::vector<Ids>{{1}, {2}, {3, 1}, {5, 6}, {7, 9, 8}, {10, 4}, {11, 9, 8}, {12}}));
  EXPECT_EQ(dry_breakers(default_dry_breakers(), pieces, encode), (std::vector<Ids>{{1}, {2}, {3}}));
  EXPECT_EQ(test::message_of<UsageError>([&] { dry_breakers(std::vector<std::string>{""}, pieces, encode); }),
            "--dry-sequence-breaker: the text is empty, expected at least one character");
}

TEST(Candidates, a_temperature_that_overflows_leaves_the_largest) {
  Candidates c;
  c.assign(std::vector<float>{1, 30, 29, 30});
  apply_temperature(c, 1e-45);
  c.normalize();
  EXPECT_EQ(c.p, (std::vector<float>{0, 0.5, 0, 0.5}));
  c.assign(std::vector<float>{-1, -30, -29});  // −30 / T overflows here, which is harmless
  apply_temperature(c, 1e-38);
  c.normalize();
  EXPECT_EQ(c.p, (std::vector<float>{1, 0, 0}));
}

TEST(Candidates, selection_on_a_whole_vocabulary_equals_sorting) {
  const int64_t n = 20000;
  Candidates all;
  all.assign(test::test_values("logits", n));
  for (float& x : all.score) x = std::round(x * 400) / 100;  // many equal
  all.normalize();
  Ids order = all.id;
  std::sort(order.begin(), order.end(), [&](int a, int b) { return all.score[a] != all.score[b] ? all.score[a] > all.score[b] : a > b; });
  for (const double p : {0.3, 0.9, 0.9999}) {
    size_t kept = 0;
    for (double sum = 0; sum < p; ++kept) sum += all.p[order[kept]];
    Ids expected(order.begin(), order.begin() + kept);
    std::sort(expected.begin(), expected.end());
    Candidates c = all;
    top_p(c, p);
    EXPECT_EQ(c.id, expected) << p;
  }
  for (const int64_t k : {1, 50, 9999, 19999}) {
    Candidates c = all;
    top_k(c, k);
    Ids expected;
    for (int64_t i = 0; i < n; ++i)
      if (all.score[i] >= all.score[order[k - 1]]) expected.push_back(int32_t(i));
    EXPECT_EQ(c.id, expected) << k;
  }
}

TEST(Candidates, without_any_there_is_an_error) {
  Candidates c;
  for (const std::vector<float>& scores : {std::vector<float>{}, std::vector<float>(3, -std::numeric_limits<float>::infinity())}) {
    c.assign(scores);
    EXPECT_THROW(c.normalize(), UsageError);
    EXPECT_THROW(most_probable(c), UsageError);
  }
}

TEST(Candidates, find_looks_by_id) {
  Candidates c;
  c.assign(std::vector<float>{5, 6, 7, 8, 9});
  EXPECT_EQ(*c.find(4), 9);
  EXPECT_EQ(c.find(5), nullptr);
  EXPECT_EQ(c.find(-1), nullptr);
  c.keep([&](size_t i) { return i == 1 || i == 3; });
  EXPECT_EQ(*c.find(1), 6);
  EXPECT_EQ(*c.find(3), 8);
  for (const int id : {0, 2, 4}) EXPECT_EQ(c.find(id), nullptr);
  c.keep([](size_t) { return false; });
  EXPECT_EQ(c.find(1), nullptr);
}

TEST(Candidates, the_least_of_the_top_choices_may_be_any) {
  Candidates c;
  c.assign(std::vector<float>{1, 3, 2, -9});
  exclude_top_choices(c, 0.05);
  EXPECT_EQ(c.id, (Ids{0, 3}));
  c.assign(std::vector<float>{3, 2, -9, 1});
  exclude_top_choices(c, 0.05);
  EXPECT_EQ(c.id, (Ids{2, 3}));
}

TEST(Candidates, a_draw_never_takes_what_has_no_probability) {
  Candidates c;
  c.assign(std::vector<float>{-200, 0, -300, 0, -200});
  c.normalize();
  EXPECT_EQ(draw(c, 0), 1u);
  EXPECT_EQ(draw(c, 0.4999), 1u);
  EXPECT_EQ(draw(c, 0.5), 3u);
  EXPECT_EQ(draw(c, 1 - 0x1p-53), 3u);
  c.p = {1, 3, 0, 4, 0};  // the total need not be 1
  EXPECT_EQ(draw(c, 0.1), 0u);
  EXPECT_EQ(draw(c, 0.45), 1u);
  EXPECT_EQ(draw(c, 1 - 0x1p-53), 3u);
  EXPECT_EQ(most_probable(c), 1u);
}

TEST(Exponentials, are_those_of_the_standard_library) {
  std::vector<float> x;
  for (int i = 0; i <= 200003; ++i) x.push_back(-float(i) * 87.0f / 200003);
  std::vector<float> e(x.size());
  const double sum = exponentials(x, 0, e);
  double worst = 0, expected = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, std::abs(e[i] / std::exp(double(x[i])) - 1));
    expected += std::exp(double(x[i]));
  }
  EXPECT_LT(worst, 1.2e-7);              // observed 8.3e-8
  EXPECT_NEAR(sum / expected, 1, 1e-9);  // observed 1.9e-10
  EXPECT_EQ(sum_of_exponentials(x, 0), sum);
  EXPECT_EQ(largest(x), 0);
  const std::vector<float> ends{3, -std::numeric_limits<float>::infinity(), -90};
  e.resize(3);
  EXPECT_EQ(exponentials(ends, 3, e), 1);
  EXPECT_EQ(e, (std::vector<float>{1, 0, 0}));
}

TEST(Exponentials, a_row_with_a_nan_or_an_infinity_is_an_error_of_one_line) {
  std::vector<float> row(100, 1.0f);
  EXPECT_NO_THROW(check_logits(row));
  row[17] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(test::message_of<NonFiniteError>([&] { check_logits(row); }),
            "logits: 1 of 100 values is not finite, the first is nan at token 17, expected finite values");
  row[99] = -std::numeric_limits<float>::infinity();
  row[5] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(test::message_of<NonFiniteError>([&] { check_logits(row); }),
            "logits: 3 of 100 values are not finite, the first is inf at token 5, expected finite values");
  EXPECT_EQ(test::message_of<ShapeError>([&] { check_logits({}); }), "logits: empty row, expected one value per token");
}

}  // namespace
}  // namespace hearth::sampling
