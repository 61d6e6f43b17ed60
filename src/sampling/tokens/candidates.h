// The tokens that may come next, and the filters that remove some of them. A filter sees the softmax over what the earlier filters
// left, as a logits processor of transformers does when removed tokens have score −∞.
//
// Reference: transformers 4.57.1 (generation/logits_process.py) for temperature, top-k, top-p, min-p, typical, epsilon and eta,
// down to ties and bounds: probabilities are f32, running sums are f64 and rounded to f32 for comparison. llama.cpp for
// top-n-sigma, XTC and Mirostat 2. No filter sorts the vocabulary: the largest weights of 152 000 tokens are found by selection.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth::sampling {

struct Candidates {
  std::vector<float> score;  // log-probability up to a constant
  std::vector<int32_t> id;   // ascending
  std::vector<float> p;      // softmax of score; valid after normalize()

  // All tokens of a row that has passed check_logits, ids from 0.
  void assign(std::span<const float> logits);
  size_t size() const { return score.size(); }
  // The entry of a token, nullptr if it is not a candidate.
  float* find(int32_t token);
  // UsageError if there is no candidate, or if every score is −∞.
  void check_any() const;
  // p = softmax(score); returns ln Σ exp(score). Errors as check_any.
  double normalize();
  // Keeps the candidates i with keeps(i) true, in their order, with their previous p.
  template <class Keeps> void keep(Keeps keeps);
};

// score / temperature in f32; temperature > 0. If that overflows, the scores are first shifted so that the largest is 0.
void apply_temperature(Candidates& c, double temperature);
// The k largest; more if others equal the k-th. k ≥ 1.
void top_k(Candidates& c, int64_t k);
// The smallest set of tokens whose probabilities sum to p or more, at least one. Among equals the highest ids stay.
void top_p(Candidates& c, double p);
// Those with at least min_p times the largest probability.
void min_p(Candidates& c, double min_p);
// Meister et al. 2022 (arXiv 2202.00666): the tokens whose −ln p is nearest to the entropy, until their probabilities reach `mass`; tokens
// at the same distance as the last one are kept.
void typical(Candidates& c, double mass);
// Hewitt et al. 2022 (arXiv 2210.15191): tokens with probability epsilon or more; and the same with min(ε, √ε·exp(−entropy)). The
// most probable token always stays.
void epsilon_cutoff(Candidates& c, double epsilon);
void eta_cutoff(Candidates& c, double epsilon);
// Tang et al. 2024 (arXiv 2411.07641): scores down to n standard deviations below the largest.
void top_n_sigma(Candidates& c, double n);
// "Exclude top choices": removes all tokens with probability `threshold` or more except the least probable of them. Among equals the
// highest id stays.
void exclude_top_choices(Candidates& c, double threshold);
// Mirostat 2 (Basu et al. 2021, arXiv 2007.14966): tokens with −log₂ p of at most mu, or else the most probable one alone.
void truncate_surprise(Candidates& c, double mu);

// The index of the first candidate at which the cumulative probability exceeds u times the total; u in [0, 1). Never a candidate
// whose probability is 0. Needs p.
size_t draw(const Candidates& c, double u);
// The index of the largest score, the lowest id among equals. Errors as check_any.
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
