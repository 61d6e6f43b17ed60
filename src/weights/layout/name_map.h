// Two spellings of a network's tensors, as data that reads in both directions: the makers' original one and the official one of diffusers
// and transformers. A map is a list of blocks; in each block rules like those of weights/aliases.h ('#' a number, '*' a piece, '**' the
// rest) hold for what follows the block's two names and a dot.
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

// How an official tensor lies in the original one.
enum class Form : uint8_t {
  same,
  first_third,   // its rows are the first of three equal parts: [C, …] of [3C, …]
  second_third,  //
  last_third,    //
  transposed,    // [a, b] of [b, a]
  kernel,        // a matrix [a, b] of a 1×1 kernel [a, b, 1, 1]
};

struct NameRule {
  std::string_view original, official;
  Form form = Form::same;
};

struct NamedBlock {
  std::string original, official;  // both empty: the rules hold for whole names
  std::span<const NameRule> rules;
};
using NameMap = std::vector<NamedBlock>;

struct Renamed {
  std::string name;
  Form form;
};
// The official tensors that one original tensor holds: none where no rule fits, three where it is fused.
std::vector<Renamed> to_official(std::string_view original, const NameMap& map);
// The original tensor that holds an official one. Where several spellings mean the same, the one that comes first in the map.
std::optional<Renamed> to_original(std::string_view official, const NameMap& map);

// An official tensor that another file holds.
struct Piece {
  std::string stored;  // the whole name there
  Form form = Form::same;
  TensorInfo info;  // of the official tensor; info.unreadable where the stored one has not the shape that the form needs
};
using Pieces = std::map<std::string, Piece>;  // by official name

// Every tensor whose name begins with `prefix`. One that no rule knows keeps its whole name: who asks for nothing of that name will list
// it as unread. WeightError when two tensors come to one name.
Pieces official_pieces(const std::map<std::string, TensorInfo>& stored, std::string_view prefix, const NameMap& map);

// A copy of a matrix [a, b] as [b, a].
Tensor turned(const Tensor& x, Backend& backend);

// The tensors of `source` that are named in `pieces`, in their official form. Parts of what is fused and matrices of kernels are views;
// transposed ones are copies.
std::shared_ptr<TensorSource> source_of(std::shared_ptr<TensorSource> source, Pieces pieces);

}  // namespace hearth
