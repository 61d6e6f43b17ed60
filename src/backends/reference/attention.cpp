#include <algorithm>
#include <vector>

#include "backends/reference/reference_class.h"

namespace hearth::reference {
namespace {

double element(const Tensor& x, int64_t b, int64_t t, int64_t n, int64_t d) {
  return at(x, b * x.stride(0) + t * x.stride(1) + n * x.stride(2) + d * x.stride(3));
}

double capped(double score, double cap) { return cap > 0 ? cap * std::tanh(score / cap) : score; }

// Σ wᵢ · value(i, d) / Σ wᵢ with w = exp(score − maximum); the sink, −∞ for none, takes a share of the softmax and adds nothing. A score of
// −∞ hides its value. Zero if no value is left.
struct Weighted {
  Weighted(std::vector<double> scores_, double sink, const auto& rounded) : scores(std::move(scores_)) {
    double highest = sink;
    for (const double s : scores) highest = std::max(highest, s);
    for (const double s : scores) {
      weights.push_back(s == -INFINITY ? 0 : std::exp(s - highest));
      sum += weights.back();
      weights.back() = rounded(weights.back());
    }
    if (sink != -INFINITY) sum += std::exp(sink - highest);
  }
  // For each d below `width`.
  std::vector<double> means_of(int64_t width, const auto& value) const {
    std::vector<double> means(width);
    for (size_t i = 0; i < scores.size(); ++i)
      if (scores[i] != -INFINITY)
        for (int64_t d = 0; d < width; ++d) means[d] += weights[i] * value(int64_t(i), d);
    for (double& mean : means) mean = sum == 0 ? 0 : mean / sum;
    return means;
  }
  std::vector<double> scores, weights;
  double sum = 0;
};

}  // namespace

void ReferenceBackend::attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec, Tensor& y) {
  const auto factor = [bf16 = spec.factors == DType::bf16](double value) { return bf16 ? bf16_to_f32(f32_to_bf16(float(value))) : value; };
  const int64_t T = q.size(1), S = k.size(1), N = q.size(2), D = q.size(3), G = k.size(2), Dv = v.size(3);
  const Tensor& bias = spec.bias;
  pool_.run(q.size(0) * T * N, [&](int64_t index) {
    const int64_t b = index / (T * N), t = index / N % T, n = index % N, g = n / (N / G);
    const int64_t length = spec.key_lengths.empty() ? S : spec.key_lengths[size_t(b)];
    const int64_t first = spec.window ? std::max<int64_t>(0, t - spec.window + 1) : 0;
    int64_t last = spec.mask == Mask::causal ? std::min(length, t + 1) : length;
    if (spec.window) last = std::min(last, t + spec.window);
    std::vector<double> scores, query(D);
    for (int64_t d = 0; d < D; ++d) query[d] = factor(double(spec.scale) * element(q, b, t, n, d));
    for (int64_t s = first; s < last; ++s) {
      double score = 0;
      for (int64_t d = 0; d < D; ++d) score += query[d] * factor(element(k, b, s, g, d));
      score = capped(score, double(spec.soft_cap));
      if (bias) {
        const auto place = [&](int axis, int64_t i) { return bias.size(axis) == 1 ? 0 : i * bias.stride(axis); };
        score += at(bias, place(0, b) + place(1, n) + place(2, t) + s);
      }
      scores.push_back(score);
    }
    const Weighted weighted(std::move(scores), spec.sinks ? at(spec.sinks, n) : -INFINITY, factor);
    const auto means = weighted.means_of(Dv, [&](int64_t i, int64_t d) { return factor(element(v, b, first + i, g, d)); });
    for (int64_t d = 0; d < Dv; ++d) put(y, index * Dv + d, means[d]);
  });
}

void ReferenceBackend::cached_attention(const Tensor& q, std::span<const KeyValues> texts, const CachedAttentionSpec& spec, Tensor& y) {
  const int64_t N = q.size(1), D = q.size(2);
  for (int64_t begin = 0; const KeyValues& text : texts) {
    const int64_t C = text.k.size(0), G = text.k.size(1), Dv = text.v.size(2);
    const std::vector<float> keys = text.k.to_vector(), values = text.v.to_vector();
    pool_.run(text.queries * N, [&](int64_t of_text) {
      const int64_t index = begin * N + of_text, n = of_text % N, position = text.first + of_text / N;
      const int64_t from = text.window ? std::max<int64_t>(0, position - text.window + 1) : 0;
      const auto row = [&](int64_t p) {
        const int64_t slot = text.pages ? text.pages.data<int32_t>()[p / text.page] * text.page + p % text.page : p % C;
        return slot * G + n / (N / G);
      };
      std::vector<double> scores, query(D);
      for (int64_t d = 0; d < D; ++d) query[d] = double(spec.scale) * at(q, index * D + d);
      for (int64_t p = from; p <= position; ++p) {
        double s = 0;
        for (int64_t d = 0; d < D; ++d) s += query[d] * keys[size_t(row(p) * D + d)];
        scores.push_back(capped(s, double(spec.soft_cap)));
      }
      const Weighted weighted(std::move(scores), spec.sinks ? at(spec.sinks, n) : -INFINITY, [](double w) { return w; });
      const auto means = weighted.means_of(Dv, [&](int64_t i, int64_t d) { return values[size_t(row(from + i) * Dv + d)]; });
      for (int64_t d = 0; d < Dv; ++d) put(y, index * Dv + d, means[d]);
    });
    begin += text.queries;
  }
}

}  // namespace hearth::reference
