// Maps the original names of a network's tensors to the official names of diffusers and transformers, and back. A map is a list of blocks.
// The rules of a block, like those of weights/aliases.h ('#' a number, '*' a component, '**' the rest), apply to the part of the name after
// the block's name and a dot.
//
//   {"input_blocks.1.0", "down_blocks.0.resnets.0", {{"in_layers.0.*", "norm1.*"}, …}}
//   input_blocks.1.0.in_layers.0.weight ↔ down_blocks.0.resnets.0.norm1.weight
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weights/weights.h"

namespace hearth {

using TensorList = std::map<std::string, TensorInfo>;

// The tensors whose names start with `prefix`, without the prefix.
TensorList inside_of(const TensorList& all, std::string_view prefix);

// No axes if the tensor is not in the list.
Shape shape_of(const TensorList& tensors, const std::string& name);

// How an official tensor is stored in the original one.
struct Form {
  enum class Kind : uint8_t {
    same,
    rows,        // some of its rows: of `parts` equal parts, those in [first, end)
    swapped,     // its first and second half of rows swapped
    transposed,  // [a, b] stored as [b, a]
    kernel,      // a matrix [a, b] stored as a 1×1 kernel [a, b, 1, 1], or as such rows of one
  };
  Kind kind = Kind::same;
  uint8_t first = 0, end = 1, parts = 1;

  friend bool operator==(const Form&, const Form&) = default;
};
namespace form {
constexpr Form same{}, swapped{Form::Kind::swapped}, transposed{Form::Kind::transposed}, kernel{Form::Kind::kernel};
// q, k and v of [3C, …]: rows(0, 1, 3), rows(1, 2, 3), rows(2, 3, 3).
constexpr Form rows(uint8_t first, uint8_t end, uint8_t parts) { return {Form::Kind::rows, first, end, parts}; }
}  // namespace form

struct NameRule {
  std::string_view original, official;
  Form form = form::same;
};

struct NamedBlock {
  std::string original, official;  // both empty: the rules apply to whole names
  std::span<const NameRule> rules;
};
using NameMap = std::vector<NamedBlock>;

struct Renamed {
  std::string name;
  Form form;
};
// The official tensors that one original tensor holds: none if no rule matches, several if it is fused.
std::vector<Renamed> to_official(std::string_view original, const NameMap& map);
// The original tensor that holds an official one; if several rules match, the first of the map.
std::optional<Renamed> to_original(std::string_view official, const NameMap& map);

// An official tensor that another file holds.
struct Piece {
  std::string stored;  // the whole name there
  Form form = form::same;
  TensorInfo info;  // of the official tensor; info.unreadable is set if the stored shape does not match the form
};
using Pieces = std::map<std::string, Piece>;  // by official name

// Every tensor whose name starts with `prefix`. One that no rule matches keeps its whole name, so that Weights reports it as unread.
// WeightError if two tensors map to one name.
Pieces official_pieces(const TensorList& stored, std::string_view prefix, const NameMap& map);

// Copies: turned() transposes a matrix [a, b] to [b, a]; swapped() puts the second half of the rows of [a, …] before the first.
Tensor turned(const Tensor& x, Backend& backend);
Tensor swapped(const Tensor& x, Backend& backend);

// The tensors that `pieces` lists, read from `source` and brought into their official form. Parts of fused tensors and matrices of kernels
// are views; transposed and swapped tensors are copies. Weights of compact types stay as they are stored, except that a form that cuts
// their blocks, or transposes them, gives f32.
std::shared_ptr<TensorSource> source_of(std::shared_ptr<TensorSource> source, Pieces pieces);

}  // namespace hearth
