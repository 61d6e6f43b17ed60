// Standard normal values as a function of (seed, place, element), without state, by Philox4x32-10 (core/philox.h).
#pragma once

#include <cstdint>
#include <span>

namespace hearth::sampling {

enum class Stream : uint32_t { draws, path };  // separates uses, so that no number is used twice

struct CounterPlace {
  uint32_t low, high;
  Stream stream;
};

// hearth's own: elements 4b … 4b + 3 come from the block of counter (b, low, high, stream) and key `seed`, low words first, two from
// each pair of words (w₀, w₁) by Box and Muller: u = w₀·2⁻³² + 2⁻³³, angle = 2π·⌊w₁/2⁸⌋·2⁻²⁴; cosine first.
void counter_normals(uint64_t seed, CounterPlace place, std::span<float> out);

// A1111's "NV" source: the first normal that a CUDA GPU draws in the thread of the element's number. Block of counter
// (draw, 0, element, 0) and key `seed`; √(−2 ln u)·sin v of its first two words, u = w₀·2⁻³² + 2⁻³³, v = 2π(w₁·2⁻³² + 2⁻³³), in f64.
void nv_normals(uint64_t seed, uint32_t draw, std::span<float> out);

}  // namespace hearth::sampling
