// Angles of rotary position embeddings, and the methods by which checkpoints extend them beyond the trained length.
// Reference: transformers, modeling_rope_utils.py. Frequencies, angles and tables are f32, as there.
#pragma once

#include "core/backend.h"
#include "core/files/config.h"

namespace hearth::parts {

struct RotaryConfig {
  enum class Kind { plain, linear, dynamic, yarn, llama3 };

  Kind kind = Kind::plain;
  double theta = 10000;
  int64_t size = 0;               // R: elements of a head that are rotated
  int64_t positions = 2048;       // max_position_embeddings
  double factor = 1;              // linear, dynamic, yarn, llama3
  double low = 1, high = 4;       // llama3: low_freq_factor, high_freq_factor
  double fast = 32, slow = 1;     // yarn: beta_fast, beta_slow
  bool truncate = true;           // yarn: integers at the ends of the ramp
  double attention_factor = 1;    // of cosines and sines
  double original_positions = 0;  // llama3, yarn: the trained length
  std::vector<float> divisors;    // [R/2] of the frequencies, as GGUF files store them; empty: none
  RotaryPairs pairs = RotaryPairs::halves;

  // Reads rope_theta and rope_scaling, or the rope_parameters of newer files; and two keys that weights/gguf/gguf_language.h adds,
  // rope_pairs ("halves", "neighbors") and rope_divisors. UnsupportedError for a type that is not listed above, WeightError for an
  // invalid value.
  static RotaryConfig from(const Config& config, int64_t size, int64_t positions);

  // Radians per position, [R/2]; `length`: total number of positions, which only `dynamic` depends on.
  std::vector<float> frequencies(int64_t length) const;
  // Whether the angles of a position depend on the length.
  bool stretches() const { return kind == Kind::dynamic; }
  // Cosines and sines for positions first … first + count − 1 of a text of `length` positions: [count, 2, R/2] f32.
  Tensor table(Backend& backend, int64_t first, int64_t count, int64_t length) const;

  bool operator==(const RotaryConfig&) const = default;
};

}  // namespace hearth::parts
