// Parameters of token sampling, and the order of its stages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/tokens/dry.h"
#include "sampling/tokens/penalties.h"

namespace hearth::sampling {

enum class Stage { penalties, dry, temperature, top_n_sigma, top_k, top_p, min_p, typical, epsilon_cutoff, eta_cutoff, xtc };
std::string_view name_of(Stage stage);  // "penalties", "dry", …

// "hf": the order of transformers' processors; top_n_sigma while the scores are unfiltered, xtc last.
//   penalties dry temperature top_n_sigma top_k top_p min_p typical_p epsilon_cutoff eta_cutoff xtc
// "llama.cpp": its default chain; the two cutoffs, which it lacks, before xtc.
//   penalties dry top_n_sigma top_k typical_p top_p min_p epsilon_cutoff eta_cutoff xtc temperature
// Anything else: names of stages separated by commas. UsageError for an unknown or repeated name.
std::vector<Stage> sampling_order(std::string_view text);

// A stage whose parameter has the value given here is off.
struct SamplingParameters {
  // 0: greedy, the most probable token after biases and penalties, the lowest id among equals; filters are ignored then.
  double temperature = 1;
  int64_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double typical_p = 1;
  double epsilon_cutoff = 0;
  double eta_cutoff = 0;
  double top_n_sigma = 0;
  double xtc_probability = 0;  // how often the top choices are excluded
  double xtc_threshold = 0.1;
  int64_t mirostat = 0;  // 2: Mirostat 2 chooses among what all other stages left; start() and next() update its μ
  double mirostat_tau = 5;
  double mirostat_eta = 0.1;

  double repetition_penalty = 1;  // counts prompt and completion
  double presence_penalty = 0;    // these two count the completion alone
  double frequency_penalty = 0;
  int64_t repeat_last_n = -1;  // tokens of prompt and completion that all three count; −1: all, 0: none
  Dry dry;

  // Applied before every stage. The length rules forbid end_tokens.
  std::vector<SequenceBias> sequence_bias;  // a single token: --logit-bias
  std::vector<int32_t> suppress_tokens, begin_suppress_tokens;
  int64_t no_repeat_ngram_size = 0;
  int64_t min_new_tokens = 0;  // of the completion
  int64_t min_length = 0;      // of prompt and completion
  std::vector<int32_t> end_tokens;

  std::vector<Stage> order = sampling_order("hf");
  uint64_t seed = 0;
  int64_t vocabulary = 0;  // tokens from this id on are never chosen (padding rows of the output matrix); 0: every row is a token
};

// The first parameter whose value is invalid.
struct ParameterProblem {
  std::string name;    // as above, "dry_base" for dry.base
  std::string value;   // its value
  std::string needed;  // "a number from 0 to 1"
};
std::optional<ParameterProblem> problem_of(const SamplingParameters& p);

// UsageError "--top-p 1.5: expected a number from 0 to 1"; also for a stage that is set but left out of the order.
void check(const SamplingParameters& p);

}  // namespace hearth::sampling
