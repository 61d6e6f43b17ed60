#include "sampling/noise/brownian_tree.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "sampling/noise/counter_normals.h"
#include "sampling/noise/seed_sequence.h"
#include "sampling/noise/torch_generator.h"

namespace hearth::sampling {
namespace {

using Values = std::vector<float>;

void scale(std::span<float> values, double factor) {
  for (float& v : values) v *= float(factor);
}

// Times are f32 in the programs that define these paths. NaN, infinities and equal times have no increment.
std::pair<double, double> ordered(double from, double to) {
  const double a = float(std::min(from, to)), b = float(std::max(from, to));
  if (!(a < b) || !std::isfinite(b))
    fail<UsageError>("noise: no path from sigma {} to {}, expected two different finite values above 0", from, to);
  return {a, b};
}

// Rounds to six decimals, like Python's round: the nearest decimal number, ties by the exact binary value.
double rounded(double t) {
  char text[400];
  const auto [end, error] = std::to_chars(text, text + sizeof text, t, std::chars_format::fixed, 6);
  std::from_chars(text, end, t);
  return t;
}

constexpr size_t pool_size = 24;  // as in torchsde's trees

BrownianTree torchsde_tree(uint64_t seed, double low, double high, size_t count, SeededNormals normals) {
  Values whole(count);
  normals(seed_sequence(seed, {}, pool_size, 3)[0], whole);
  scale(whole, std::sqrt(high - low));
  const auto of_interval = [seed, normals](uint64_t key, int depth, std::span<float> out) {
    normals(seed_sequence(seed, {key, uint64_t(depth)}, pool_size, 4)[0], out);
  };
  return {rounded(low), rounded(high), std::move(whole), {of_interval, [](double a, double b) { return rounded(0.5 * (a + b)); }}};
}

}  // namespace

void torch_normals(uint32_t seed, std::span<float> out) { TorchGenerator(seed).normal(out); }
void nv_first_normals(uint32_t seed, std::span<float> out) { nv_normals(seed, 0, out); }

BrownianTree::BrownianTree(double low, double high, Values increment, Rules rules)
    : whole_{low, high, 0, 0}, increment_(std::move(increment)), rules_(std::move(rules)) {}

void BrownianTree::add(double from, double to, std::span<float> out) {
  if (from == to) return;
  add(whole_, increment_, from, to, out);
  last_ = std::move(now_);
  now_.clear();
}

void BrownianTree::add(const Interval& interval, const Values& increment, double from, double to, std::span<float> out) {
  const auto& [begin, end, key, depth] = interval;
  if (from == begin && to == end) {
    for (size_t i = 0; i < out.size(); ++i) out[i] += increment[i];
    return;
  }
  const double middle = rules_.middle(begin, end);
  const Values& left = left_of(interval, middle, increment);
  if (from < middle) add({begin, middle, 2 * key, depth + 1}, left, from, std::min(to, middle), out);
  if (to <= middle) return;
  Values right(increment.size());
  for (size_t i = 0; i < right.size(); ++i) right[i] = increment[i] - left[i];
  add({middle, end, 2 * key + 1, depth + 1}, right, std::max(from, middle), to, out);
}

const Values& BrownianTree::left_of(const Interval& interval, double middle, const Values& increment) {
  const std::pair place{interval.depth, interval.key};
  if (const auto known = now_.find(place); known != now_.end()) return known->second;
  if (auto known = last_.extract(place)) return now_.insert(std::move(known)).position->second;
  const double before = middle - interval.begin, after = interval.end - middle, reciprocal = 1 / (interval.end - interval.begin);
  const float a = float(before), b = float(reciprocal), deviation = float(std::sqrt(before * after * reciprocal));
  Values left(increment.size());
  rules_.normals(interval.key, interval.depth, left);
  for (size_t i = 0; i < left.size(); ++i) left[i] = a * increment[i] * b + deviation * left[i];
  return now_[place] = std::move(left);
}

TorchsdePath::TorchsdePath(uint64_t seed, double low, double high, size_t count, SeededNormals normals)
    : low_(float(low)), high_(float(high)), tree_(torchsde_tree(seed, low_, high_, count, normals)) {
  if (!(low_ < high_)) fail<UsageError>("noise: no path from sigma {} to {}, expected two different finite values above 0", low, high);
}

void TorchsdePath::between(double from, double to, std::span<float> out) {
  const auto [a, b] = ordered(from, to);
  std::fill(out.begin(), out.end(), 0.0f);
  const auto inside = [&](double t) { return rounded(std::clamp(t, rounded(low_), rounded(high_))); };
  tree_.add(inside(a), inside(b), out);
  scale(out, (from < to ? 1 : -1) / std::sqrt(b - a));
}

BrownianTree& OctavePath::octave(int exponent) {
  if (const auto known = octaves_.find(exponent); known != octaves_.end()) return known->second;
  // Node 0 is the octave's whole increment, node k ≥ 1 the halving of interval (key, depth) with k = 2^depth + key.
  Values whole(count_);
  counter_normals(seed_, {0, uint32_t(exponent), Stream::path}, whole);
  scale(whole, std::sqrt(std::ldexp(1.0, exponent)));
  const auto normals = [seed = seed_, exponent](uint64_t key, int depth, std::span<float> out) {
    counter_normals(seed, {uint32_t(1) << depth | uint32_t(key), uint32_t(exponent), Stream::path}, out);
  };
  BrownianTree tree(std::ldexp(1.0, exponent), std::ldexp(1.0, exponent + 1), std::move(whole),
                    {normals, [](double a, double b) { return 0.5 * (a + b); }});
  return octaves_.emplace(exponent, std::move(tree)).first->second;
}

void OctavePath::between(double from, double to, std::span<float> out) {
  const auto [a, b] = ordered(from, to);
  if (a <= 0) fail<UsageError>("noise: no path from sigma {} to {}, expected two different finite values above 0", from, to);
  std::fill(out.begin(), out.end(), 0.0f);
  const int first = std::ilogb(a), last = std::ilogb(b);
  std::erase_if(octaves_, [&](const auto& o) { return o.first < first || o.first > last; });
  for (int e = first; e <= last; ++e) octave(e).add(std::max(a, std::ldexp(1.0, e)), std::min(b, std::ldexp(1.0, e + 1)), out);
  scale(out, (from < to ? 1 : -1) / std::sqrt(b - a));
}

}  // namespace hearth::sampling
