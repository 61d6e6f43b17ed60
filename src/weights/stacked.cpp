#include "weights/stacked.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "core/error.h"
#include "core/on_host.h"

namespace hearth {
namespace {

using Rows = StackRule::Rows;

// `pattern` with its last '#' replaced by the index.
std::string of_slice(std::string_view pattern, int64_t index) {
  const size_t at = pattern.rfind('#');
  return std::string(pattern.substr(0, at)) + std::to_string(index) + std::string(pattern.substr(at + 1));
}

bool is_part(Rows rows) { return rows != Rows::all; }

// The shape of a slice, and the number of slices.
Shape slice_shape(const Shape& stack, const StackRule& rule) {
  if (rule.rows_of_slice) return {rule.rows_of_slice, stack[1]};
  return Shape(std::span(stack.begin() + 1, stack.end()));
}
int64_t slices_of(const Shape& stack, const StackRule& rule) { return rule.rows_of_slice ? stack[0] / rule.rows_of_slice : stack[0]; }

// The shape of the official tensor in a stack.
Shape part_shape(const Shape& stack, const StackRule& rule) {
  Shape part = slice_shape(stack, rule);
  if (rule.transposed) std::swap(part[0], part[1]);
  if (rule.rows == Rows::range) part[0] = rule.last - rule.first;
  else if (is_part(rule.rows)) part[0] /= 2;
  if (rule.turned) std::swap(part[0], part[1]);
  return part;
}

// Every second row, from `first` on.   x [R, …] → [R / 2, …]
Tensor every_second_row(const Tensor& x, int64_t first) {
  Shape half = x.shape();
  half[0] /= 2;
  const size_t bytes = bytes_of(x.dtype(), x.numel() / x.size(0));
  return written_on_host(x.backend(), half, x.dtype(), [&](Tensor& y) {
    for (int64_t r = 0; r < half[0]; ++r) std::memcpy(y.raw() + size_t(r) * bytes, x.raw() + size_t(2 * r + first) * bytes, bytes);
  });
}

// x [in, out] → [out, in]
Tensor transposed(const Tensor& x) {
  const int64_t in = x.size(0), out = x.size(1);
  const size_t bytes = size_of(x.dtype());
  return written_on_host(x.backend(), {out, in}, x.dtype(), [&](Tensor& y) {
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i) std::memcpy(y.raw() + size_t(o * in + i) * bytes, x.raw() + size_t(i * out + o) * bytes, bytes);
  });
}

Tensor part_of(const Tensor& slice, const StackRule& rule) {
  const Tensor x = rule.transposed ? transposed(slice) : slice;
  const int64_t half = x.size(0) / 2;
  switch (rule.rows) {
    case Rows::all: return x;
    case Rows::first_half: return x.slice(0, 0, half);
    case Rows::second_half: return x.slice(0, half, 2 * half);
    case Rows::even: return every_second_row(x, 0);
    case Rows::odd: return every_second_row(x, 1);
    case Rows::range: return x.slice(0, rule.first, rule.last);
  }
  return x;
}

// A type whose elements can be rearranged.
Tensor elements_of(const Tensor& x) { return is_blocked(x.dtype()) ? Tensor::from(x.backend(), x.shape(), x.to_vector()) : x; }

class UnstackedSource final : public TensorSource {
 public:
  UnstackedSource(std::shared_ptr<TensorSource> source, std::span<const StackRule> rules) : source_(std::move(source)) {
    for (const auto& [name, info] : source_->list()) {
      bool stacked = false;
      for (const StackRule& rule : rules)
        if (rewrite(name, rule.stored, rule.stored)) stacked |= add(name, info, rule);
      if (!stacked) insert(name, info);
    }
  }

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override { return listed_; }
  bool has(const std::string& name) const override { return listed_.contains(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    const auto found = slices_.find(name);
    if (found == slices_.end()) return source_->read(name, wanted, backend);
    const auto& [stack, index, rule] = found->second;
    const Tensor all = whole(stack, backend);
    const Shape shape = slice_shape(all.shape(), rule);
    const int64_t rows = rule.rows_of_slice ? rule.rows_of_slice : 1;
    const Tensor part = part_of(all.slice(0, index * rows, (index + 1) * rows).view(shape), rule);
    return rule.turned ? transposed(elements_of(part)) : part;
  }
  Tensor scale(const std::string& name, Backend& backend) override {
    return slices_.contains(name) ? Tensor() : source_->scale(name, backend);
  }
  std::span<const std::byte> stored_bytes(const std::string& name) const override {
    return slices_.contains(name) ? std::span<const std::byte>() : source_->stored_bytes(name);
  }
  bool mapped(const std::string& name) const override {
    const auto slice = slices_.find(name);
    if (slice == slices_.end()) return source_->mapped(name);
    const StackRule& rule = slice->second.rule;
    return !rule.transposed && !rule.turned && rule.rows != Rows::even && rule.rows != Rows::odd && source_->mapped(slice->second.stack);
  }
  void release(const std::string& name) override {
    if (!slices_.contains(name)) source_->release(name);  // others need their part of a stack
  }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }

 private:
  struct Slice {
    std::string stack;
    int64_t index;
    StackRule rule;
  };

  // A stack that is not a view of a file is kept until each of its parts has been read.
  Tensor whole(const std::string& stack, Backend& backend) {
    if (source_->mapped(stack)) return source_->read(stack, stacks_.at(stack), backend);
    const std::lock_guard lock(mutex_);
    const auto kept = kept_.find(stack);
    const auto parts = std::ranges::count(slices_, stack, [](const auto& s) { return s.second.stack; });
    Kept& k = kept == kept_.end() ? kept_.emplace(stack, Kept{source_->read(stack, stacks_.at(stack), backend), parts}).first->second
                                  : kept->second;
    const Tensor x = k.stack;
    if (--k.parts_left == 0) kept_.erase(stack);
    return x;
  }
  struct Kept {
    Tensor stack;
    int64_t parts_left;
  };

  void insert(const std::string& name, const TensorInfo& info) {
    if (!listed_.emplace(name, info).second) fail<WeightError>("{}: '{}' exists twice, alone and in a stack", source_->describe(), name);
  }
  bool add(const std::string& name, const TensorInfo& info, const StackRule& rule) {
    const int rank = info.shape.rank();
    if (rank < 2 || (rule.transposed && rank != 3)) return false;
    if (rule.rows_of_slice ? rank != 2 || info.shape[0] % rule.rows_of_slice != 0
                           : is_part(rule.rows) && info.shape[rule.transposed ? 2 : 1] % 2 != 0)
      return false;
    TensorInfo part = info;
    part.shape = part_shape(info.shape, rule);
    if (info.scaled) part.unreadable = "has a scale, which is not supported for a stack";
    if (rule.turned && is_blocked(part.dtype)) part.dtype = DType::f32;
    for (int64_t i = 0; i < slices_of(info.shape, rule); ++i) {
      const std::string official = *rewrite(name, rule.stored, of_slice(rule.official, i));
      insert(official, part);
      slices_.emplace(official, Slice{name, i, rule});
    }
    stacks_[name] = info.shape;
    return true;
  }

  std::shared_ptr<TensorSource> source_;
  std::map<std::string, TensorInfo> listed_;
  std::map<std::string, Slice> slices_;
  std::map<std::string, Shape> stacks_;
  std::mutex mutex_;  // of kept_
  std::map<std::string, Kept> kept_;
};

class Fewer final : public TensorSource {
 public:
  Fewer(std::shared_ptr<TensorSource> source, std::span<const std::string> prefixes)
      : source_(std::move(source)), listed_(source_->list()) {
    std::erase_if(listed_, [&](const auto& tensor) {
      return std::ranges::any_of(prefixes, [&](const std::string& p) { return tensor.first.starts_with(p); });
    });
  }

  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override { return listed_; }
  bool has(const std::string& name) const override { return listed_.contains(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override { return source_->read(name, wanted, backend); }
  Tensor scale(const std::string& name, Backend& backend) override { return source_->scale(name, backend); }
  std::span<const std::byte> stored_bytes(const std::string& name) const override { return source_->stored_bytes(name); }
  bool mapped(const std::string& name) const override { return source_->mapped(name); }
  void release(const std::string& name) override { source_->release(name); }
  void release_all() override { source_->release_all(); }
  void require_unchanged() const override { source_->require_unchanged(); }

 private:
  std::shared_ptr<TensorSource> source_;
  std::map<std::string, TensorInfo> listed_;
};

}  // namespace

std::shared_ptr<TensorSource> without(std::shared_ptr<TensorSource> source, std::span<const std::string> prefixes) {
  if (prefixes.empty()) return source;
  return std::make_shared<Fewer>(std::move(source), prefixes);
}

std::shared_ptr<TensorSource> unstacked(std::shared_ptr<TensorSource> source, std::span<const StackRule> rules) {
  if (rules.empty()) return source;
  return std::make_shared<UnstackedSource>(std::move(source), rules);
}

std::optional<StackedSlice> stack_of(const std::string& official, std::span<const StackRule> rules) {
  for (const StackRule& rule : rules) {
    // The index as one more component behind the stack's name.
    const auto numbered = rewrite(official, rule.official, std::string(rule.stored) + ".#");
    if (!numbered) continue;
    const size_t dot = numbered->rfind('.');
    return StackedSlice{numbered->substr(0, dot), std::stoll(numbered->substr(dot + 1))};
  }
  return std::nullopt;
}

}  // namespace hearth
