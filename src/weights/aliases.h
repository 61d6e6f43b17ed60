// Other spellings of the official tensor names, as data. Modules only ever see the official name.
//
// A rule rewrites whole names, never parts of them: piece by piece between the dots, '#' stands for one number, '*' for one piece
// of any text and '**', last only, for one or more pieces. Both sides hold the same marks in the same order, so a table can be
// read in both directions and loses nothing.
//
//   {"*.mid_block.attentions.#.query.*", "*.mid_block.attentions.#.to_q.*"}
//   decoder.mid_block.attentions.0.query.weight → decoder.mid_block.attentions.0.to_q.weight
#pragma once

#include <optional>
#include <span>

#include "weights/weights.h"

namespace hearth {

struct Alias {
  std::string_view stored, official;
};

// The name with its marks filled in; nothing when the pattern `from` does not fit all of `name`.
std::optional<std::string> rewrite(std::string_view name, std::string_view from, std::string_view to);

// Stored name → official name for every name; one that fits no rule keeps its own. WeightError when two rules rewrite one name
// differently or two names come to the same one.
std::map<std::string, std::string> official_names(const std::map<std::string, TensorInfo>& stored, std::span<const Alias> rules);

// The source under its official names. The rules are used up at once.
std::shared_ptr<TensorSource> aliased(std::shared_ptr<TensorSource> source, std::span<const Alias> rules);

}  // namespace hearth
