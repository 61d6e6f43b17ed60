// A checkpoint's generation_config.json, as transformers 4.57.1 reads it, and how a request overrides it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/files/config.h"
#include "sampling/tokens/parameters.h"

namespace hearth::sampling {

// Values of the file. Without a file they are as below: decoding is greedy.
struct GenerationDefaults {
  // WeightError names file, key and value if a value is of the wrong type or out of range.
  static GenerationDefaults read(const Config& c);

  bool do_sample = false;  // false, also if the key is absent: greedy, as in transformers
  std::optional<double> temperature, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff, repetition_penalty;
  std::optional<int64_t> top_k;  // absent: off (transformers' own default of 50 is not in the file and not applied)

  // Rules that apply at every temperature.
  int64_t no_repeat_ngram_size = 0, min_new_tokens = 0, min_length = 0;
  std::vector<int32_t> suppress_tokens, begin_suppress_tokens;
  std::vector<SequenceBias> sequence_bias;  // sequence_bias and bad_words_ids; a bad word that is a single end token is allowed

  std::vector<int32_t> eos_token_ids;                 // one or a list in the file; empty: see config.json
  std::optional<int32_t> bos_token_id, pad_token_id;  // −1 in a file: absent
  std::optional<int64_t> max_new_tokens, max_length;  // for the caller's length limit
  std::vector<std::string> stop_strings;

  // One line for each key whose value would change the tokens in transformers and is not applied here (num_beams 4,
  // guidance_scale 1.5, …), including unknown keys.
  std::vector<std::string> warnings;
};

// Values of a request; the members mean the same as those of SamplingParameters.
struct SamplingRequest {
  std::optional<double> temperature, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff, top_n_sigma, xtc_probability, xtc_threshold,
      mirostat_tau, mirostat_eta, repetition_penalty, presence_penalty, frequency_penalty, dry_multiplier, dry_base;
  std::optional<int64_t> top_k, mirostat, repeat_last_n, dry_allowed_length, dry_last_n;
  std::optional<std::vector<std::vector<int32_t>>> dry_breakers;
  std::optional<uint64_t> seed;                       // absent: a random one, recorded in the parameters
  std::vector<std::pair<int32_t, float>> logit_bias;  // in addition to the file's; −∞ forbids the token
  std::string order;                                  // as in sampling_order(); "": hf
};

// The first value of the request that is invalid whatever the file says.
std::optional<ParameterProblem> problem_of(const SamplingRequest& request);

// Combines request and file; the request takes precedence:
//   - temperature 0 in the request: greedy; only the file's rules apply, not repetition_penalty or any other sampling value;
//   - a temperature above 0 in the request: the file's other values apply, regardless of do_sample;
//   - no temperature, but another parameter that only sampling uses (top_k, …, xtc_probability, mirostat): samples at the file's
//     temperature, else 1;
//   - neither: samples if the file has do_sample (temperature 1 if absent), otherwise greedy with the file's repetition_penalty.
// Order "llama.cpp" uses llama.cpp's defaults instead of the file's sampling values: temperature 0.8, top_k 40, top_p 0.95, min_p
// 0.05, repeat_last_n 64. Mirostat uses only temperature and penalty of the file and profile, none of their filters. A value of the
// file is ignored if the order lacks its stage. UsageError as check().
SamplingParameters resolve(const GenerationDefaults& file, const SamplingRequest& request);

}  // namespace hearth::sampling
