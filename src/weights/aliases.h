// Other spellings of the official tensor names, as data. Modules see only official names.
//
// A rule matches a whole name, component by component between the dots: '#' matches one number, '*' one component of any text, and '**',
// allowed only at the end, one or more components. Both sides have the same wildcards in the same order, so a rule can be applied in both
// directions.
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
  bool unless_there = false;  // applies only if no tensor is stored under the official name; else the tensor keeps its own
};

// `to` with its wildcards replaced by what they match in `name`; nullopt unless the pattern `from` matches the whole `name`.
std::optional<std::string> rewrite(std::string_view name, std::string_view from, std::string_view to);

// Maps every stored name to its official name; a name that no rule matches stays as it is. WeightError if two rules rewrite one name
// differently, or if two names map to the same one.
std::map<std::string, std::string> official_names(const std::map<std::string, TensorInfo>& stored, std::span<const Alias> rules);

// The source under its official names. The rules need not outlive the call.
std::shared_ptr<TensorSource> aliased(std::shared_ptr<TensorSource> source, std::span<const Alias> rules);

}  // namespace hearth
