// Angles of rotary position embeddings, and the methods by which checkpoints extend them beyond the trained length.
// Reference: transformers, modeling_rope_utils.py. Frequencies, angles and tables are f32, as there.
#pragma once

#include <array>
#include <span>

#include "core/backend.h"
#include "core/files/config.h"

namespace hearth::parts {

// Numbers of positions, which the angles of some methods depend on.
struct TextLengths {
  int64_t now = 0;      // that exist after the current call: `dynamic`
  int64_t planned = 0;  // that there is room for: longrope, whose two lists must not change in the middle of a text
};

struct RotaryConfig {
  enum class Kind { plain, linear, dynamic, yarn, llama3, longrope };

  Kind kind = Kind::plain;
  double theta = 10000;
  int64_t size = 0;                                  // R: elements of a head that are rotated
  int64_t positions = 2048;                          // max_position_embeddings
  double factor = 1;                                 // linear, dynamic, yarn, llama3
  double low = 1, high = 4;                          // llama3: low_freq_factor, high_freq_factor
  double fast = 32, slow = 1;                        // yarn: beta_fast, beta_slow
  bool truncate = true;                              // yarn: integers at the ends of the ramp
  double attention_factor = 1;                       // of cosines and sines
  double long_attention_factor = 1;                  // longrope: the same beyond the trained length
  double mscale_all_dim = 0;                         // yarn: see score_factor()
  double original_positions = 0;                     // llama3, yarn, longrope: the trained length
  std::vector<float> short_divisors, long_divisors;  // longrope: [R/2] of the frequencies, for texts up to the trained length and beyond
  std::vector<float> divisors;                       // [R/2] of the frequencies, as GGUF files store them; empty: none
  RotaryPairs pairs = RotaryPairs::halves;
  // mrope_section of models that see images: how many of the frequencies turn by the first, second and third axis of a position (frame,
  // row, column). Texts have the same number on all three. Empty: positions have one axis.
  std::vector<int64_t> sections;

  // Reads rope_theta and rope_scaling, or the rope_parameters of newer files; and keys that weights/gguf/gguf_language.h adds:
  // rope_pairs ("halves", "neighbors"), rope_divisors, rope_short_divisors, rope_long_divisors and rope_attention_factor.
  // UnsupportedError for a type that is not listed above, WeightError for an invalid value.
  struct Defaults {
    double theta = 10000;
    double partial = 1;       // part of a head that `size` is
    std::string layers = {};  // if rope_parameters has one object for each type of layers, the type: "full_attention"
  };
  static RotaryConfig from(const Config& config, int64_t size, int64_t positions, const Defaults& defaults);

  // Radians per position, [R/2].
  std::vector<float> frequencies(const TextLengths& length) const;
  double factor_of_angles(const TextLengths& length) const;  // of cosines and sines
  // yarn with mscale_all_dim: what families of latent attention multiply scores by, (0.1 · mscale_all_dim · ln factor + 1)²; 1 for others.
  double score_factor() const;
  // The same config for a completed config.json, with mscale_all_dim: the families whose scores have the factor state it.
  std::string spelled_with_score_factor() const;
  // Whether the angles of a position depend on the length.
  bool stretches() const { return kind == Kind::dynamic; }
  // Cosines and sines for positions first … first + count − 1: [count, 2, R/2] f32.
  Tensor table(Backend& backend, int64_t first, int64_t count, const TextLengths& length) const;
  // The same for these positions, each with a number per axis. UnsupportedError without sections.
  using Position = std::array<int64_t, 3>;
  Tensor table(Backend& backend, std::span<const Position> positions, const TextLengths& length) const;

  bool operator==(const RotaryConfig&) const = default;
};

}  // namespace hearth::parts
