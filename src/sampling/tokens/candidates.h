// The tokens that may come next, and the filters that make them fewer. A filter sees the softmax over what the ones before it
// left, as a logits processor of transformers does that meets −∞ for what is gone.
//
// Reference: transformers 4.57.1 (generation/logits_process.py) for temperature, top-k, top-p, min-p, typical, epsilon and eta,
// down to ties and bounds: probabilities are f32, running sums f64 rounded to f32 where they are compared. llama.cpp for
// top-n-sigma, XTC and Mirostat 2. None of them sorts the vocabulary: the largest weights of 152 000 tokens are found by selection.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth::sampling {

struct Candidates {
  std::vector<float> score;  // log-probability up to a constant
  std::vector<int32_t> id;   // ascending
  std::vector<float> p;      // softmax of score; valid after normalize()

  // Every token of a row that has passed check_logits, ids from 0.
  void assign(std::span<const float> logits);
  size_t size() const { return score.size(); }
  // The entry of a token, nullptr where it is no candidate.
  float* find(int32_t token);
  // UsageError when there is no candidate, or every one has −∞.
  void check_any() const;
  // p = softmax(score); returns ln Σ exp(score). Fails as check_any.
  double normalize();
  // Leaves the candidates i with keeps(i) true, in their order and with the p they had.
  template <class Keeps> void keep(Keeps keeps);
};

// score / temperature in f32; temperature > 0. Where that overflows, the same with the largest score moved to 0 first.
void apply_temperature(Candidates& c, double temperature);
// The k largest; more where others equal the k-th. k ≥ 1.
void top_k(Candidates& c, int64_t k);
// The fewest tokens that together have probability p or more, at least one. Among equals the highest ids stay.
void top_p(Candidates& c, double p);
// Those with at least min_p times the largest probability.
void min_p(Candidates& c, double min_p);
// Meister et al. 2022 (arXiv 2202.00666): those whose −ln p is nearest to the entropy, until their probabilities reach `mass`; all
// that are as near as the last one.
void typical(Candidates& c, double mass);
// Hewitt et al. 2022 (arXiv 2210.15191): those with probability epsilon or more; and the same with min(ε, √ε·exp(−entropy)). The
// most probable stay.
void epsilon_cutoff(Candidates& c, double epsilon);
void eta_cutoff(Candidates& c, double epsilon);
// Tang et al. 2024 (arXiv 2411.07641): scores down to n standard deviations below the largest one.
void top_n_sigma(Candidates& c, double n);
// "Exclude top choices": of the tokens with probability `threshold` or more all but the least probable one go. Among equals the
// highest id stays.
void exclude_top_choices(Candidates& c, double threshold);
// Mirostat 2 (Basu et al. 2021, arXiv 2007.14966): tokens with −log₂ p of at most mu, else the most probable one alone.
void truncate_surprise(Candidates& c, double mu);

// The index of the first candidate at which the sum of the probabilities exceeds u times their total; u in [0, 1). Never one
// whose probability is 0. Needs p.
size_t draw(const Candidates& c, double u);
// The index of the largest score, the lowest id among equals. Fails as check_any.
size_t most_probable(const Candidates& c);

template <class Keeps> void Candidates::keep(Keeps keeps) {
  p.resize(size());
  size_t kept = 0;
  for (size_t i = 0; i < size(); ++i) {
    if (!keeps(i)) continue;
    score[kept] = score[i];
    p[kept] = p[i];
    id[kept++] = id[i];
  }
  score.resize(kept);
  p.resize(kept);
  id.resize(kept);
}

}  // namespace hearth::sampling
