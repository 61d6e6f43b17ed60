// Which experts are chosen, and that only these are read and multiplied. Values: the families' goldens.
#include "parts/decoder/experts.h"

#include <cmath>
#include <map>

#include "parts/golden_case_test.h"

namespace hearth::parts {
namespace {

using Score = RouterConfig::Score;

// The experts of a single token with their weights.
std::map<int64_t, float> chosen(const std::vector<float>& logits, RouterConfig c, const std::vector<float>& bias = {}) {
  c.experts = std::ssize(logits);
  const Routing r = route(logits, bias, c);
  std::map<int64_t, float> all;
  for (int64_t e = 0; e < c.experts; ++e)
    for (int64_t i = r.begins[size_t(e)]; i < r.begins[size_t(e) + 1]; ++i) all[e] = r.weights[size_t(i)];
  return all;
}

void expect_near(const std::map<int64_t, float>& made, const std::map<int64_t, double>& expected) {
  ASSERT_EQ(made.size(), expected.size());
  for (const auto& [expert, weight] : expected) {
    ASSERT_TRUE(made.contains(expert)) << expert;
    EXPECT_NEAR(made.at(expert), weight, 1e-6) << expert;
  }
}

const double e1 = std::exp(1.0), e2 = std::exp(2.0), e3 = std::exp(3.0);

TEST(Router, weights_are_those_of_the_softmax_and_may_be_renormalized) {
  const std::vector<float> logits{1, 3, 0, 2};
  const double sum = e1 + e3 + 1 + e2;
  expect_near(chosen(logits, {.renormalize = false}), {{1, e3 / sum}, {3, e2 / sum}});
  expect_near(chosen(logits, {}), {{1, e3 / (e3 + e2)}, {3, e2 / (e3 + e2)}});
  expect_near(chosen(logits, {.score = Score::chosen_softmax}), {{1, e3 / (e3 + e2)}, {3, e2 / (e3 + e2)}});
  expect_near(chosen(logits, {.renormalize = false, .scale = 3}), {{1, 3 * e3 / sum}, {3, 3 * e2 / sum}});
}

TEST(Router, a_bias_counts_for_the_choice_alone) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const RouterConfig c{.chosen = 1, .score = Score::sigmoid, .choice_bias = true, .renormalize = false};
  expect_near(chosen({2, 1}, c, {0, 0.5f}), {{1, sigmoid(1)}});
  expect_near(chosen({2, 1}, c, {0, 0.1f}), {{0, sigmoid(2)}});
}

TEST(Router, groups_are_chosen_by_their_best_or_by_the_sum_of_two) {
  // Three groups of two; the best expert is in the first, the best pair in the last.
  const std::vector<float> logits{3, -9, 0, 1, 2.5f, 2.4f};
  RouterConfig c{.chosen = 2, .score = Score::chosen_softmax, .groups = 3, .chosen_groups = 1};
  expect_near(chosen(logits, c), {{0, 1 / (1 + std::exp(-12.0))}, {1, 1 / (1 + std::exp(12.0))}});
  c.group_score_of_two = true;
  expect_near(chosen(logits, c), {{4, 1 / (1 + std::exp(-0.1))}, {5, 1 / (1 + std::exp(0.1))}});
}

TEST(Router, a_sparse_mixer_weighs_each_choice_among_those_close_to_it) {
  const RouterConfig c{.score = Score::sparse_mixer, .jitter = 0.1};  // 20 % of the larger
  // 10 has 9 close by (10 %), not 7 (30 %); then 9 has nothing close but 10, which is taken.
  expect_near(chosen({10, 9, 7, 1}, c), {{0, 1 / (1 + std::exp(-1.0))}, {1, 1}});
}

TEST(Router, equal_scores_go_to_the_first_expert) { expect_near(chosen({1, 1, 1}, {}), {{0, 0.5}, {1, 0.5}}); }

TEST(Router, tokens_are_listed_expert_by_expert) {
  const std::vector<float> logits{0, 1, 2, /**/ 2, 1, 0, /**/ 0, 2, 1};
  const Routing r = route(logits, {}, {.experts = 3, .chosen = 2});
  EXPECT_EQ(r.tokens, (std::vector<int32_t>{1, 0, 1, 2, 0, 2}));
  EXPECT_EQ(r.begins, (std::vector<int64_t>{0, 1, 4, 6}));
}

// Multiplications and additions of products, and the weights that they read.
struct Products : Observer {
  void on_op(const OpEvent& event) override {
    if (event.flop == 0) return;
    flop += event.flop;
    if (event.weight.find("experts.") != event.weight.npos) ++experts[std::string(event.weight)];
  }
  double flop = 0;
  std::map<std::string, int> experts;
};

BACKEND_TEST(Experts, only_the_chosen_are_read_and_multiplied) {
  constexpr int64_t width = 32, hidden = 24, count = 16, k = 3;
  Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
  const Experts experts(Scope(weights) / "mlp", width, {.router = {.experts = count, .chosen = k}, .expert = {.width = hidden}});
  for (const int64_t T : {1, 2, 40}) {
    const Tensor x = Tensor::from(device, {T, width}, test::test_values("experts.x", T * width));
    Products products;
    {
      const ObserverScope scope(products);
      experts(x, {}, {}, nullptr);
    }
    EXPECT_EQ(products.flop, 2.0 * double(T * count * width) + 2.0 * double(T * k * 3 * width * hidden)) << T;
    if (T == 1) { EXPECT_EQ(products.experts.size(), size_t(3 * k)); }
    for (const auto& [name, times] : products.experts) EXPECT_EQ(times, 1) << name;  // all tokens of an expert together
  }
}

BACKEND_TEST(Experts, a_token_has_the_same_bits_alone_and_among_others) {
  constexpr int64_t width = 32, T = 20;
  Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
  ExpertsConfig c{.router = {.experts = 6, .chosen = 2}, .expert = {.width = 24}};
  c.shared = ExpertsConfig::Shared{.mlp = {.width = 20}, .gate = "shared_expert_gate"};
  const Experts experts(Scope(weights) / "mlp", width, c);
  const Tensor x = Tensor::from(device, {T, width}, test::test_values("experts.x", T * width));
  const std::vector<float> all = experts(x, x, {}, nullptr).to_vector();
  for (int64_t t = 0; t < T; ++t) {
    const Tensor one = x.slice(0, t, t + 1);
    const std::vector<float> alone = experts(one, one, {}, nullptr).to_vector();
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + t * width)) << t;
  }
}

}  // namespace
}  // namespace hearth::parts
