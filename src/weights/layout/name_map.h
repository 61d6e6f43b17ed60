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

using TensorList = std::map<std::string, TensorInfo>;

// The tensors whose names begin with `prefix`, without it.
TensorList inside_of(const TensorList& all, std::string_view prefix);

// How an official tensor lies in the original one.
struct Form {
  enum class Kind : uint8_t {
    same,
    rows,        // some of its rows: of `parts` equal parts those from `first` to before `end`
    swapped,     // the halves of its rows in the other order
    transposed,  // [a, b] of [b, a]
    kernel,      // a matrix [a, b] of a 1×1 kernel [a, b, 1, 1]
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
  std::string original, official;  // both empty: the rules hold for whole names
  std::span<const NameRule> rules;
};
using NameMap = std::vector<NamedBlock>;

struct Renamed {
  std::string name;
  Form form;
};
// The official tensors that one original tensor holds: none where no rule fits, several where it is fused.
std::vector<Renamed> to_official(std::string_view original, const NameMap& map);
// The original tensor that holds an official one. Where several spellings mean the same, the one that comes first in the map.
std::optional<Renamed> to_original(std::string_view official, const NameMap& map);

// An official tensor that another file holds.
struct Piece {
  std::string stored;  // the whole name there
  Form form = form::same;
  TensorInfo info;  // of the official tensor; info.unreadable where the stored one has not the shape that the form needs
};
using Pieces = std::map<std::string, Piece>;  // by official name

// Every tensor whose name begins with `prefix`. One that no rule knows keeps its whole name: who asks for nothing of that name will list
// it as unread. WeightError when two tensors come to one name.
Pieces official_pieces(const TensorList& stored, std::string_view prefix, const NameMap& map);

// Copies: of a matrix [a, b] as [b, a]; of a tensor [a, …] with its second half of rows before its first.
Tensor turned(const Tensor& x, Backend& backend);
Tensor swapped(const Tensor& x, Backend& backend);

// The tensors of `source` that are named in `pieces`, in their official form. Parts of what is fused and matrices of kernels are views;
// transposed and swapped ones are copies.
std::shared_ptr<TensorSource> source_of(std::shared_ptr<TensorSource> source, Pieces pieces);

}  // namespace hearth
