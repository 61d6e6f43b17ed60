// Which experts are chosen, and that only these are read and multiplied. Values: the families' goldens.
#include "parts/decoder/experts.h"

#include <cmath>
#include <map>
#include <set>

#include "parts/decoder/decoder.h"
#include "parts/decoder/reading.h"
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

// Multiplications and additions of products, how often each weight of an expert is read, and the bytes of these.
struct Products : Observer {
  void on_op(const OpEvent& event) override {
    if (event.flop == 0) return;
    flop += event.flop;
    if (event.weight.find(".experts.") == event.weight.npos) return;
    ++reads[std::string(event.weight)];
    bytes += event.weight_bytes;
  }
  double flop = 0;
  int64_t bytes = 0;
  std::map<std::string, int> reads;
};

// The same of the experts that the router chooses for the tokens x [T, C], each once.
std::map<std::string, int> chosen_by_router(Weights& weights, const Tensor& x, const std::string& path, const ExpertsConfig& c) {
  const int64_t width = x.size(1);
  const std::vector<float> logits =
      Projection((Scope(weights) / path / c.names.router).exact(), width, c.router.experts, c.router.bias)(x).to_vector();
  std::set<int64_t> experts;
  for (size_t t = 0; t < size_t(x.size(0)); ++t)
    for (const auto& [expert, weight] : chosen(
             {logits.begin() + std::ptrdiff_t(t) * c.router.experts, logits.begin() + std::ptrdiff_t(t + 1) * c.router.experts}, c.router))
      experts.insert(expert);
  std::map<std::string, int> reads;
  for (const int64_t e : experts)
    for (const char* part : {"gate_proj", "up_proj", "down_proj"}) reads[fmt::format("{}.experts.{}.{}.weight", path, e, part)] = 1;
  return reads;
}

// All tokens of an expert together: each matrix is read once.
BACKEND_TEST(Experts, only_the_chosen_are_read_and_multiplied) {
  constexpr int64_t width = 32, hidden = 24, count = 16, k = 3, shared = 20;
  const ExpertsConfig plain{.router = {.experts = count, .chosen = k}, .expert = {.width = hidden}};
  ExpertsConfig clamped = plain, with_shared = plain;
  clamped.router.score = Score::chosen_softmax, clamped.router.bias = true;
  clamped.expert.bias = true, clamped.expert.limit = 7, clamped.expert.activation = Activation::quick_gelu;
  with_shared.shared = ExpertsConfig::Shared{.mlp = {.width = shared}};
  for (const ExpertsConfig& c : {plain, clamped, with_shared}) {
    Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
    const Experts experts(Scope(weights) / "mlp", width, c);
    for (const int64_t T : {1, 2, 5, 40}) {
      SCOPED_TRACE(T);
      const Tensor x = Tensor::from(device, {T, width}, test::test_values("experts.x", T * width));
      const std::map<std::string, int> expected = chosen_by_router(weights, x, "mlp", c);
      Products products;
      {
        const ObserverScope scope(products);
        experts(x, {}, {}, {});
      }
      EXPECT_EQ(products.reads, expected);
      if (T == 1) { EXPECT_EQ(expected.size(), size_t(3 * k)); }
      if (T == 5) { EXPECT_LT(expected.size(), size_t(3 * count)); }
      EXPECT_EQ(products.bytes, std::ssize(expected) * width * hidden * int64_t(sizeof(float)));
      EXPECT_EQ(products.flop, 2.0 * double(T * width) * double(count + 3 * k * hidden + (c.shared ? 3 * shared : 0)));
    }
  }
}

// A prompt reads the experts of all its tokens in each layer, and then each token only its own.
BACKEND_TEST(Experts, decoding_reads_the_experts_of_one_token) {
  constexpr int64_t width = 16, count = 12, k = 2;
  const ExpertsConfig c{.router = {.experts = count, .chosen = k}, .expert = {.width = 8}};
  DecoderConfig d{.vocabulary = 31, .width = width, .rotaries = {{.size = 8}}};
  d.layers.assign(3, pre_norm({}, AttentionConfig{.heads = 2, .groups = 1, .head = 8}, c));
  Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
  const Decoder net{Scope(weights), d};
  DecoderState state = net.trunk.start(32, DType::f32);
  for (const std::vector<int32_t>& ids : {std::vector<int32_t>{3, 14, 15, 9, 26}, {5}, {30}}) {
    // What the experts of each layer receive.
    struct Inputs : Products {
      void on_op(const OpEvent& event) override {
        Products::on_op(event);
        if (event.weight.ends_with(".mlp.gate.weight")) routed.push_back(event.x.to_vector());
      }
      std::vector<std::vector<float>> routed;
    } products;
    {
      const ObserverScope scope(products);
      net.hidden(ids, state, state.length + std::ssize(ids));
    }
    ASSERT_EQ(products.routed.size(), d.layers.size());
    std::map<std::string, int> expected;
    for (size_t layer = 0; layer < d.layers.size(); ++layer) {
      const Tensor x = Tensor::from(device, {std::ssize(ids), width}, products.routed[layer]);
      expected.merge(chosen_by_router(weights, x, fmt::format("model.layers.{}.mlp", layer), c));
    }
    EXPECT_EQ(products.reads, expected);
    if (ids.size() == 1) { EXPECT_EQ(expected.size(), 3 * 3 * size_t(k)); }
  }
}

BACKEND_TEST(Experts, a_token_has_the_same_bits_alone_and_among_others) {
  constexpr int64_t width = 32, T = 20;
  Weights weights = Weights::seeded(device, {.types = {.in_place = true}});
  ExpertsConfig c{.router = {.experts = 6, .chosen = 2}, .expert = {.width = 24}};
  c.shared = ExpertsConfig::Shared{.mlp = {.width = 20}, .gate = "shared_expert_gate"};
  const Experts experts(Scope(weights) / "mlp", width, c);
  const Tensor x = Tensor::from(device, {T, width}, test::test_values("experts.x", T * width));
  const std::vector<float> all = experts(x, x, {}, {}).to_vector();
  for (int64_t t = 0; t < T; ++t) {
    const Tensor one = x.slice(0, t, t + 1);
    const std::vector<float> alone = experts(one, one, {}, {}).to_vector();
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + t * width)) << t;
  }
}

}  // namespace
}  // namespace hearth::parts
