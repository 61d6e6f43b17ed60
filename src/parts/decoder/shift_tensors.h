// The shifts of RWKV's blocks (token_shift.h) as their networks need them: checkpoints store a vector for each projection, GGUF files all
// of a block as one tensor.
#pragma once

#include <map>
#include <span>

#include "weights/derived.h"

namespace hearth::parts {

struct ShiftNames {                           // patterns of weights/aliases.h
  std::string_view joined;                    // all shifts of a block
  std::string_view first;                     // the first of them; the others differ in the last letter
  std::string_view letters;                   // of all, in the order of `joined`
  std::span<const std::string_view> vectors;  // further vectors [C]
};

// Of tensors with these names and shapes: `joined` as [n, 1, 1, C], also if its parts are stored apart, and `vectors` without further axes.
std::map<std::string, DerivedTensor> shift_tensors(const std::map<std::string, TensorInfo>& stored, const ShiftNames& names);

}  // namespace hearth::parts
