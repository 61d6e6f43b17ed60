// A checkpoint's generation_config.json, as transformers 4.57.1 reads it, and what the command line makes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/files/config.h"
#include "sampling/tokens/parameters.h"

namespace hearth::sampling {

// What the file states. Without a file everything is as it is here: the answer is greedy.
struct GenerationDefaults {
  // WeightError names file, key and value where a value is of the wrong kind or out of range.
  static GenerationDefaults read(const Config& c);

  bool do_sample = false;  // false, also where the key is absent: the most probable token, as transformers does
  std::optional<double> temperature, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff, repetition_penalty;
  std::optional<int64_t> top_k;  // absent: off (transformers' own default of 50 is not in the file and not applied)

  // Rules that hold at every temperature.
  int64_t no_repeat_ngram_size = 0, min_new_tokens = 0, min_length = 0;
  std::vector<int32_t> suppress_tokens, begin_suppress_tokens;
  std::vector<SequenceBias> sequence_bias;  // sequence_bias and bad_words_ids; a bad word that is an end token by itself is allowed

  std::vector<int32_t> eos_token_ids;                 // one or a list in the file; empty: ask config.json
  std::optional<int32_t> bos_token_id, pad_token_id;  // −1 in a file: absent
  std::optional<int64_t> max_new_tokens, max_length;  // for the caller's length limit
  std::vector<std::string> stop_strings;

  // One line for each key whose value would change the tokens in transformers and is not honored here (num_beams 4,
  // guidance_scale 1.5, …), unknown keys included.
  std::vector<std::string> warnings;
};

// What a request states; the members mean what those of SamplingParameters mean.
struct SamplingRequest {
  std::optional<double> temperature, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff, top_n_sigma, xtc_probability, xtc_threshold,
      mirostat_tau, mirostat_eta, repetition_penalty, presence_penalty, frequency_penalty, dry_multiplier, dry_base;
  std::optional<int64_t> top_k, mirostat, repeat_last_n, dry_allowed_length, dry_last_n;
  std::optional<std::vector<std::vector<int32_t>>> dry_breakers;
  std::optional<uint64_t> seed;                       // absent: a fresh one, to be found in the parameters
  std::vector<std::pair<int32_t, float>> logit_bias;  // beside the file's; −∞ forbids the token
  std::string order;                                  // as sampling_order(); "": hf
};

// The request over the file over nothing:
//   - temperature 0 in the request: greedy; of the file only the rules hold, not repetition_penalty nor any other sampling value;
//   - a temperature above 0 in the request: the file's other values hold, whatever do_sample says;
//   - no temperature, but another parameter that only a draw obeys (top_k, …, xtc_probability, mirostat): a draw at the file's
//     temperature, else 1;
//   - neither: the file with do_sample draws (temperature 1 where it states none), otherwise greedy with the file's repetition_penalty.
// Order "llama.cpp" takes llama.cpp's defaults in place of the file's sampling values: temperature 0.8, top_k 40, top_p 0.95, min_p
// 0.05, repeat_last_n 64. Mirostat takes none of the file's and profile's filters, only their temperature and penalty. A value of the
// file is left out where the order lacks its stage. UsageError as check().
SamplingParameters resolve(const GenerationDefaults& file, const SamplingRequest& request);

}  // namespace hearth::sampling
