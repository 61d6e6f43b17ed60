// Tensors that a file stores as one, along a new first axis: the experts of a layer.
#pragma once

#include "weights/aliases.h"

namespace hearth {

// A rule {"blk.#.exps.weight", "layers.#.experts.#.weight"}: the official name has one more '#', the last, which counts the slices of the
// stored tensor along its first axis.
struct StackRule {
  enum class Rows { all, first_half, second_half, even, odd, range };

  std::string_view stored, official;
  Rows rows = Rows::all;    // of each slice that the official tensor has, after transposing
  bool transposed = false;  // a slice is stored as [in, out]
  // A matrix whose slices lie one after another, each of this many rows; 0: the first axis counts them.
  int64_t rows_of_slice = 0;
  int64_t first = 0, last = 0;  // Rows::range: rows first … last − 1
  bool turned = false;          // the official tensor is the transposed of these rows; a block type becomes f32
};

// The source with the slices of each stack in its place. Whole rows of a mapped tensor that lie together are views; other parts are copies.
// WeightError for a name that exists already.
std::shared_ptr<TensorSource> unstacked(std::shared_ptr<TensorSource> source, std::span<const StackRule> rules);

// The stack that a slice belongs to, by rules with all rows, and the slice's index; nullopt if no rule matches.
struct StackedSlice {
  std::string stack;
  int64_t index = 0;
};
std::optional<StackedSlice> stack_of(const std::string& official, std::span<const StackRule> rules);

// The source without the tensors whose names start with one of these.
std::shared_ptr<TensorSource> without(std::shared_ptr<TensorSource> source, std::span<const std::string> prefixes);

}  // namespace hearth
