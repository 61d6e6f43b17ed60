#include "sampling/tokens/log_probabilities.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "support/files.h"
#include "support/golden.h"

namespace hearth::sampling {
namespace {

TEST(LogProbabilities, equal_log_softmax) {
  const nlohmann::json golden = load_json(test::folder_of(__FILE__) / "golden/tokens.json");
  double worst = 0;
  for (const auto& [name, expected] : golden["log_softmax"].items()) {
    const auto logits = golden["rows"][name].get<std::vector<float>>();
    const LogProbabilities log_probabilities(logits);
    for (size_t i = 0; i < logits.size(); ++i) {
      const double truth = expected[i];
      worst = std::max(worst, std::abs(log_probabilities.of(int32_t(i)) - truth) / std::max(1.0, std::abs(truth)));
    }
  }
  EXPECT_LT(worst, 1e-7);  // observed 5.7e-8: the one rounding to f32
}

TEST(LogProbabilities, stay_exact_over_a_large_vocabulary) {
  const int64_t n = 152064;  // e⁻⁸ each, next to one of 1
  std::vector<float> logits(n, -8.0f);
  logits[70000] = 0;
  const double log_sum = std::log(1 + double(n - 1) * std::exp(-8.0));
  EXPECT_NEAR(LogProbabilities(logits).of(70000), -log_sum, 3e-7);
  EXPECT_NEAR(LogProbabilities(logits).of(3), -8 - log_sum, 6e-7);
  for (float& x : logits) x += 1000;  // no overflow
  EXPECT_NEAR(LogProbabilities(logits).of(70000), -log_sum, 3e-7);
}

TEST(LogProbabilities, the_top_ones_with_ties_by_id) {
  std::vector<float> logits = test::test_values("logits", 5000);
  for (float& x : logits) x = std::round(x * 50);
  const LogProbabilities log_probabilities(logits);
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = int32_t(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
  for (const int64_t k : {0, 1, 2, 20, 999, 5000, 6000}) {
    const auto top = log_probabilities.top(k);
    ASSERT_EQ(int64_t(top.size()), std::min<int64_t>(k, 5000));
    for (size_t i = 0; i < top.size(); ++i) EXPECT_EQ(top[i], (TokenLogProbability{order[i], log_probabilities.of(order[i])})) << i;
  }
}

TEST(LogProbabilities, bad_input) {
  const std::vector<float> logits{1, 2, 3};
  const LogProbabilities log_probabilities(logits);
  for (const int32_t token : {-1, 3})
    EXPECT_EQ(test::message_of<UsageError>([&] { log_probabilities.of(token); }),
              fmt::format("log-probability: token {} does not exist, expected an id from 0 to 2", token));
  EXPECT_EQ(test::message_of<UsageError>([&] { log_probabilities.top(-1); }), "--logprobs -1: expected 0 or more");
  EXPECT_THROW(LogProbabilities(std::vector<float>{1, INFINITY}), NonFiniteError);
}

}  // namespace
}  // namespace hearth::sampling
