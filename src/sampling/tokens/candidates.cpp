#include "sampling/tokens/candidates.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "sampling/tokens/exponentials.h"

namespace hearth::sampling {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// Maps floats to the high bits of an integer, preserving their order. Both zeros are equal.
constexpr int bucket_bits = 12;
uint32_t bucket_of(float key) {
  const auto bits = std::bit_cast<int32_t>(key + 0.0f);
  const uint32_t ordered = uint32_t(bits) ^ (uint32_t(bits >> 31) | 0x80000000u);
  return ordered >> (32 - bucket_bits);
}

// Takes candidates by descending key, among equals by descending index, while keeps(sum of p of those already taken), but at least one.
// Returns the last one. keeps must not become true again as the sum grows.
//
// A histogram of the keys narrows down the position of the last one; within its bin nth_element bisects.
template <class Keeps> size_t last_taken(std::span<const float> key, std::span<const float> p, Keeps keeps) {
  std::vector<double> mass(size_t(1) << bucket_bits, 0.0);
  uint32_t lowest = uint32_t(mass.size()), bucket = 0;
  for (size_t i = 0; i < key.size(); ++i) {
    const uint32_t b = bucket_of(key[i]);
    mass[b] += p[i];
    lowest = std::min(lowest, b);
    bucket = std::max(bucket, b);
  }
  double sum = 0;
  while (bucket > lowest && keeps(sum + mass[bucket])) sum += mass[bucket--];

  std::vector<size_t> in;
  for (size_t i = 0; i < key.size(); ++i)
    if (bucket_of(key[i]) == bucket) in.push_back(i);
  const auto before = [&](size_t a, size_t b) { return key[a] != key[b] ? key[a] > key[b] : a > b; };
  auto low = in.begin(), high = in.end();
  while (low < high) {
    const auto middle = low + (high - low) / 2;
    std::nth_element(low, middle, high, before);
    const double upper = std::accumulate(low, middle, 0.0, [&](double s, size_t i) { return s + p[i]; });
    if (keeps(sum + upper)) {
      sum += upper + p[*middle];
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == in.begin()) ++low;
  return *std::max_element(in.begin(), low, before);
}

// −Σ p ln p of normalized candidates.
double entropy_of(const Candidates& c, double log_sum) {
  double entropy = 0;
  for (size_t i = 0; i < c.size(); ++i)
    if (c.p[i] > 0) entropy += c.p[i] * (log_sum - c.score[i]);
  return entropy;
}

}  // namespace

void Candidates::assign(std::span<const float> logits) {
  score.assign(logits.begin(), logits.end());
  id.resize(logits.size());
  std::iota(id.begin(), id.end(), 0);
}

float* Candidates::find(int32_t token) {
  if (token < 0 || id.empty() || token > id.back()) return nullptr;
  if (id.back() + 1 == int64_t(id.size())) return &score[token];
  const auto at = std::lower_bound(id.begin(), id.end(), token);
  return *at == token ? &score[at - id.begin()] : nullptr;
}

void Candidates::check_any() const {
  if (largest(score) == -infinity)
    fail<UsageError>("token sampling: the logit bias and the forbidden tokens exclude all tokens, expected at least one allowed token");
}

double Candidates::normalize() {
  check_any();
  const float max = largest(score);
  p.resize(size());
  const double sum = exponentials(score, max, p);
  for (const auto rounded = float(sum); float& v : p) v /= rounded;
  return max + std::log(sum);
}

void apply_temperature(Candidates& c, double temperature) {
  const float max = largest(c.score), t = float(temperature);
  if (std::isfinite(max / t))
    for (float& x : c.score) x /= t;
  else
    for (float& x : c.score) x = float((double(x) - max) / temperature);
}

void top_k(Candidates& c, int64_t k) {
  if (k >= int64_t(c.size())) return;
  // Values above the k-th largest seen so far, cut to k whenever there are twice as many.
  std::vector<float> best;
  float bar = -infinity;
  const auto cut = [&] {
    std::nth_element(best.begin(), best.begin() + (k - 1), best.end(), std::greater<>());
    bar = best[k - 1];
    best.resize(k);
  };
  for (const float x : c.score) {
    if (x < bar) continue;
    best.push_back(x);
    if (int64_t(best.size()) == 2 * k) cut();
  }
  cut();
  c.keep([&](size_t i) { return c.score[i] >= bar; });
}

void top_p(Candidates& c, double p) {
  c.normalize();
  const double total = sum_of(c.p);
  const auto rest = float(1 - p);
  // The sum of tokens this improbable stays below `rest`, so none of them is kept.
  const auto negligible = float(0.99 * (1 - p) / double(c.size()));
  c.keep([&](size_t i) { return c.p[i] >= negligible; });
  const size_t last = last_taken(c.score, c.p, [&](double sum) { return float(total - sum) > rest; });
  const float bar = c.score[last];
  c.keep([&](size_t i) { return c.score[i] > bar || (c.score[i] == bar && i >= last); });
}

void min_p(Candidates& c, double min_p) {
  c.normalize();
  const float bar = float(min_p) * largest(c.p);
  c.keep([&](size_t i) { return c.p[i] >= bar; });
}

void typical(Candidates& c, double mass) {
  const double log_sum = c.normalize();
  const auto entropy = float(entropy_of(c, log_sum));
  std::vector<float> nearness(c.size());
  for (size_t i = 0; i < c.size(); ++i) nearness[i] = -std::abs(float(log_sum - c.score[i]) - entropy);
  const float bar = nearness[last_taken(nearness, c.p, [&](double sum) { return float(sum) < float(mass); })];
  c.keep([&](size_t i) { return nearness[i] >= bar; });
}

void epsilon_cutoff(Candidates& c, double epsilon) {
  c.normalize();
  const float max = largest(c.score), bar = float(epsilon);
  c.keep([&](size_t i) { return c.p[i] >= bar || c.score[i] == max; });
}

void eta_cutoff(Candidates& c, double epsilon) {
  const auto entropy = float(entropy_of(c, c.normalize()));
  const auto e = float(epsilon);
  epsilon_cutoff(c, std::min(e, std::sqrt(e) * std::exp(-entropy)));
}

void top_n_sigma(Candidates& c, double n) {
  double sum = 0, squares = 0, count = 0;
  for (const float x : c.score)
    if (x != -infinity) sum += x, ++count;
  const double mean = sum / count;
  for (const float x : c.score)
    if (x != -infinity) squares += (x - mean) * (x - mean);
  const double bar = largest(c.score) - n * std::sqrt(squares / count);
  c.keep([&](size_t i) { return c.score[i] >= bar; });
}

void exclude_top_choices(Candidates& c, double threshold) {
  c.normalize();
  const auto bar = float(threshold);
  size_t last = c.size();  // the top choice that stays
  for (size_t i = 0; i < c.size(); ++i)
    if (c.p[i] >= bar && (last == c.size() || c.score[i] <= c.score[last])) last = i;
  c.keep([&](size_t i) { return c.p[i] < bar || i == last; });
}

void truncate_surprise(Candidates& c, double mu) {
  c.normalize();
  const double bar = std::exp2(-mu);
  const size_t best = most_probable(c);
  c.keep([&](size_t i) { return c.p[i] >= bar || i == best; });
}

size_t draw(const Candidates& c, double u) {
  const double bar = u * std::accumulate(c.p.begin(), c.p.end(), 0.0);  // summed in the order of the loop
  double sum = 0;
  size_t i = 0;
  while (i + 1 < c.size() && (sum += c.p[i]) <= bar) ++i;
  return i;
}

size_t most_probable(const Candidates& c) {
  c.check_any();
  return std::find(c.score.begin(), c.score.end(), largest(c.score)) - c.score.begin();
}

}  // namespace hearth::sampling
