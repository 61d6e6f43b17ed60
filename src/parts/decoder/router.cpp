#include "parts/decoder/router.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace hearth::parts {
namespace {

constexpr float lowest = -std::numeric_limits<float>::infinity();

struct Choice {
  int64_t expert;
  float weight;
};

std::vector<float> softmax(std::span<const float> x) {
  const float largest = *std::ranges::max_element(x);
  std::vector<float> y;
  float sum = 0;
  for (const float v : x) sum += y.emplace_back(std::exp(v - largest));
  for (float& v : y) v /= sum;
  return y;
}

// The `count` largest, in descending order.
std::vector<int64_t> largest(std::span<const float> x, int64_t count) {
  std::vector<int64_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::partial_sort(order, order.begin() + count,
                            [&](int64_t a, int64_t b) { return x[size_t(a)] > x[size_t(b)] || (x[size_t(a)] == x[size_t(b)] && a < b); });
  order.resize(size_t(count));
  return order;
}

// Scores with −∞ for the experts of the groups that are not chosen.
std::vector<float> in_chosen_groups(std::vector<float> scores, const RouterConfig& c) {
  const int64_t size = c.experts / c.groups;
  std::vector<float> of_groups;
  for (int64_t g = 0; g < c.groups; ++g) {
    const std::span<const float> group = std::span(scores).subspan(size_t(g * size), size_t(size));
    float sum = 0;
    for (const int64_t e : largest(group, c.group_score_of_two ? std::min<int64_t>(2, size) : 1)) sum += group[size_t(e)];
    of_groups.push_back(sum);
  }
  std::vector<bool> kept(size_t(c.groups), false);
  for (const int64_t g : largest(of_groups, c.chosen_groups)) kept[size_t(g)] = true;
  for (int64_t e = 0; e < c.experts; ++e)
    if (!kept[size_t(e / size)]) scores[size_t(e)] = lowest;
  return scores;
}

// Each choice is the largest logit left, weighted by its softmax among the logits that are close to it.
std::vector<Choice> sparse_mixer(std::span<const float> logits, const RouterConfig& c) {
  std::vector<float> left(logits.begin(), logits.end());
  std::vector<Choice> chosen;
  for (int64_t k = 0; k < c.chosen; ++k) {
    const int64_t best = largest(left, 1)[0];
    const float top = left[size_t(best)];
    std::vector<float> close = left;
    for (size_t e = 0; e < close.size(); ++e)
      if ((top - logits[e]) / std::max(std::abs(logits[e]), top) > float(2 * c.jitter)) close[e] = lowest;
    chosen.push_back({best, softmax(close)[size_t(best)]});
    left[size_t(best)] = lowest;
  }
  return chosen;
}

std::vector<Choice> choose(std::span<const float> logits, std::span<const float> choice_bias, const RouterConfig& c) {
  using Score = RouterConfig::Score;
  if (c.score == Score::sparse_mixer) return sparse_mixer(logits, c);
  std::vector<float> scores(logits.begin(), logits.end());
  if (c.score == Score::softmax) scores = softmax(logits);
  if (c.score == Score::sigmoid)
    for (float& s : scores) s = 1 / (1 + std::exp(-s));
  std::vector<float> ranks = scores;
  for (size_t e = 0; e < choice_bias.size(); ++e) ranks[e] += choice_bias[e];
  if (c.groups > 1) ranks = in_chosen_groups(std::move(ranks), c);
  std::vector<Choice> chosen;
  for (const int64_t e : largest(ranks, c.chosen)) chosen.push_back({e, scores[size_t(e)]});
  if (c.score == Score::chosen_softmax) {
    std::vector<float> of_chosen;
    for (const Choice& choice : chosen) of_chosen.push_back(choice.weight);
    of_chosen = softmax(of_chosen);
    for (size_t k = 0; k < chosen.size(); ++k) chosen[k].weight = of_chosen[k];
  } else if (c.renormalize) {
    float sum = 0;
    for (const Choice& choice : chosen) sum += choice.weight;
    for (Choice& choice : chosen) choice.weight /= sum + float(c.epsilon);
  }
  for (Choice& choice : chosen) choice.weight *= c.scale;
  return chosen;
}

}  // namespace

Routing route(std::span<const float> logits, std::span<const float> choice_bias, const RouterConfig& c) {
  const int64_t T = std::ssize(logits) / c.experts;
  struct Entry {
    int32_t token;
    float weight;
  };
  std::vector<std::vector<Entry>> of_experts(static_cast<size_t>(c.experts));
  for (int64_t t = 0; t < T; ++t)
    for (const Choice& choice : choose(logits.subspan(size_t(t * c.experts), size_t(c.experts)), choice_bias, c))
      of_experts[size_t(choice.expert)].push_back({int32_t(t), choice.weight});
  Routing r{.begins = {0}};
  for (const auto& entries : of_experts) {
    for (const Entry& e : entries) r.tokens.push_back(e.token), r.weights.push_back(e.weight);
    r.begins.push_back(std::ssize(r.tokens));
  }
  return r;
}

}  // namespace hearth::parts
