// The choice of experts for each token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth::parts {

struct RouterConfig {
  enum class Score {
    softmax,         // over all experts
    sigmoid,         // of each by itself
    chosen_softmax,  // the k largest logits are chosen, and the softmax is over these
    sparse_mixer,    // Liu et al. 2023: one after another, each with its weight among the experts close to it
  };

  int64_t experts = 8, chosen = 2;  // E, k
  Score score = Score::softmax;
  bool bias = false;         // of the router's logits
  bool choice_bias = false;  // a bias [E] of the scores that counts for the choice alone (e_score_correction_bias)
  // If there are groups, experts are chosen from the `chosen_groups` groups with the highest score: the highest of their experts, or the
  // sum of the two highest.
  int64_t groups = 1, chosen_groups = 1;
  bool group_score_of_two = false;
  bool renormalize = true;  // the weights of the chosen to a sum of 1
  double epsilon = 0;       // added to that sum
  float scale = 1;          // of the weights
  double jitter = 0.01;     // sparse_mixer: half the distance, relative to the larger of two logits, up to which both count

  bool operator==(const RouterConfig&) const = default;
};

// Which tokens go to which experts: the tokens of expert 0 in ascending order, then those of expert 1 …
struct Routing {
  std::vector<int32_t> tokens;  // [M]
  std::vector<float> weights;   // [M]
  std::vector<int64_t> begins;  // [E + 1]: expert e has entries begins[e] … begins[e + 1] − 1
};

// logits: [T, E], row by row; choice_bias: [E], or empty. A row's choice does not depend on the other rows. Equal scores: the first expert.
Routing route(std::span<const float> logits, std::span<const float> choice_bias, const RouterConfig& config);

}  // namespace hearth::parts
