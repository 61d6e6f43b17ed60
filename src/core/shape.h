// The sizes of a tensor's axes, outermost first. docs/shapes.md defines the axis letters.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace hearth {

class Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) {
    assert(dims.size() <= max_rank);
    for (int64_t d : dims) dims_[size_t(rank_++)] = d;
  }

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[size_t(axis < 0 ? axis + rank_ : axis)]; }  // negative: from the end
  int64_t& operator[](int axis) { return dims_[size_t(axis < 0 ? axis + rank_ : axis)]; }
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t d : *this) n *= d;
    return n;
  }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  void push_back(int64_t d) {
    assert(rank_ < max_rank);
    dims_[size_t(rank_++)] = d;
  }
  Shape with_last(int64_t d) const {  // the same shape with another last axis
    Shape s = *this;
    s[-1] = d;
    return s;
  }

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  std::array<int64_t, max_rank> dims_{};
  int rank_ = 0;
};

std::string to_string(const Shape& shape);  // "[1, 2, 3]"

}  // namespace hearth

template <> struct fmt::formatter<hearth::Shape> {
  constexpr auto parse(fmt::format_parse_context& context) const { return context.begin(); }
  fmt::format_context::iterator format(const hearth::Shape& shape, fmt::format_context& context) const;
};
