// The keys that a query of an attention attends to, and what is added to its scores.
#pragma once

#include <algorithm>

#include "core/backend.h"

namespace hearth::cpu {

struct KeyRange {
  int64_t first, last;
  bool empty() const { return first >= last; }
  KeyRange from(int64_t origin) const { return {first - origin, last - origin}; }
  KeyRange within(int64_t begin, int64_t end) const { return {std::clamp(first, begin, end), std::clamp(last, begin, end)}; }
};

class Visibility {
 public:
  Visibility(const AttentionSpec& spec, int64_t keys)
      : lengths_(spec.key_lengths),
        keys_(keys),
        behind_(spec.window ? spec.window : keys),
        ahead_(spec.mask == Mask::causal ? 1
               : spec.window             ? spec.window
                                         : keys),
        windowed_(spec.window > 0),
        bounded_(windowed_ || spec.mask == Mask::causal) {}

  int64_t length(int64_t b) const { return lengths_.empty() ? keys_ : lengths_[size_t(b)]; }
  // Keys that query t attends to.
  KeyRange of(int64_t b, int64_t t) const {
    return {windowed_ ? std::max<int64_t>(0, t - behind_ + 1) : 0, bounded_ ? std::min(length(b), t + ahead_) : length(b)};
  }
  // Keys that any of the queries t0 … t1 − 1 attends to, and keys that all of them attend to.
  KeyRange any(int64_t b, int64_t t0, int64_t t1) const { return {of(b, t0).first, of(b, t1 - 1).last}; }
  KeyRange all(int64_t b, int64_t t0, int64_t t1) const { return {of(b, t1 - 1).first, of(b, t0).last}; }
  // The queries among t0 … t0 + count − 1 that attend to key s, counted from t0; s is below length(b).
  KeyRange queries(int64_t s, int64_t t0, int64_t count) const {
    return KeyRange{bounded_ ? s - ahead_ + 1 - t0 : 0, windowed_ ? s + behind_ - t0 : count}.within(0, count);
  }

 private:
  const std::vector<int64_t>& lengths_;
  const int64_t keys_, behind_, ahead_;
  const bool windowed_, bounded_;
};

// Rows of a bias [1 or B, 1 or N, 1 or T, S].
class BiasRows {
 public:
  explicit BiasRows(const Tensor& bias) : bias_(bias) {}
  explicit operator bool() const { return bool(bias_); }
  bool of_all_queries() const { return bias_.size(2) == 1; }
  const float* row(int64_t b, int64_t n, int64_t t) const {
    const auto place = [&](int axis, int64_t i) { return bias_.size(axis) == 1 ? 0 : i * bias_.stride(axis); };
    return bias_.data<float>() + place(0, b) + place(1, n) + place(2, t);
  }

 private:
  const Tensor& bias_;
};

// The running maximum and sum with which head n starts: empty, or its sink. The lowest finite value replaces −∞, so that differences of
// maxima are finite.
struct SoftmaxStart {
  SoftmaxStart(const Tensor& sinks, int64_t n);
  float maximum, sum;
};

}  // namespace hearth::cpu
