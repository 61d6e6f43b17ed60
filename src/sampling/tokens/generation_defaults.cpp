#include "sampling/tokens/generation_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "core/error.h"
#include "core/files/json.h"

namespace hearth::sampling {
namespace {

using Json = nlohmann::json;

[[noreturn]] void wrong(const Config& c, const char* key, const char* needed) {
  std::string value = c.dump(key);
  if (value.size() > 80) value = value.substr(0, 77) + "…";
  fail<WeightError>("{}: '{}' is {}, expected {}", c.where(), key, value, needed);
}

Json value_of(const Config& c, const char* key) { return parse_json(c.dump(key), c.where()); }

std::optional<double> number(const Config& c, const char* key) { return c.has(key) ? std::optional(c.number(key)) : std::nullopt; }
std::optional<int64_t> integer(const Config& c, const char* key) { return c.has(key) ? std::optional(c.integer(key)) : std::nullopt; }

bool is_id(const Json& value) {
  return value.is_number_integer() && value.get<int64_t>() >= 0 && value.get<int64_t>() <= std::numeric_limits<int32_t>::max();
}

std::vector<int32_t> ids(const Config& c, const char* key) {
  if (!c.has(key)) return {};
  const Json list = value_of(c, key);
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_id)) wrong(c, key, "a list of token ids");
  return list.get<std::vector<int32_t>>();
}

std::vector<std::vector<int32_t>> id_lists(const Config& c, const char* key) {
  const Json lists = value_of(c, key);
  const auto good = [](const Json& list) { return list.is_array() && !list.empty() && std::all_of(list.begin(), list.end(), is_id); };
  if (!lists.is_array() || !std::all_of(lists.begin(), lists.end(), good)) wrong(c, key, "lists of token ids");
  return lists.get<std::vector<std::vector<int32_t>>>();
}

// One id or a list. Files also use −1 for "none".
std::vector<int32_t> one_or_more_ids(const Config& c, const char* key) {
  if (!c.has(key)) return {};
  Json value = value_of(c, key);
  if (!value.is_array()) value = Json::array({value});
  std::vector<int32_t> result;
  for (const Json& id : value)
    if (is_id(id)) result.push_back(id.get<int32_t>());
    else if (id != -1) wrong(c, key, "a token id or a list of them");
  return result;
}

std::optional<int32_t> one_id(const Config& c, const char* key) {
  const auto found = one_or_more_ids(c, key);
  if (found.size() > 1) wrong(c, key, "one token id");
  return found.empty() ? std::nullopt : std::optional(found.front());
}

// [[[ids], bias], …]
std::vector<SequenceBias> sequence_biases(const Config& c, const char* key) {
  if (!c.has(key)) return {};
  const char* needed = "a list of pairs of token ids and a number";
  const Json pairs = value_of(c, key);
  if (!pairs.is_array()) wrong(c, key, needed);
  std::vector<SequenceBias> result;
  for (const Json& pair : pairs) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_array() || pair[0].empty() || !pair[1].is_number()) wrong(c, key, needed);
    const double bias = pair[1];
    if (!std::all_of(pair[0].begin(), pair[0].end(), is_id) || !(std::abs(bias) <= std::numeric_limits<float>::max()))
      wrong(c, key, needed);
    result.push_back({pair[0].get<std::vector<int32_t>>(), float(bias)});
  }
  return result;
}

std::vector<std::string> texts(const Config& c, const char* key) {
  if (!c.has(key)) return {};
  return value_of(c, key).is_string() ? std::vector{c.text(key)} : c.texts(key);
}

// Keys of transformers that change tokens and are not supported here, with the values that change nothing.
struct Ignorable {
  const char* key;
  Json harmless;  // in addition to null
};
const std::vector<Ignorable>& unsupported() {
  static const std::vector<Ignorable> keys{{"num_beams", 1},
                                           {"num_beam_groups", 1},
                                           {"diversity_penalty", 0.0},
                                           {"num_return_sequences", 1},
                                           {"penalty_alpha", 0.0},
                                           {"dola_layers", nullptr},
                                           {"guidance_scale", 1},
                                           {"encoder_repetition_penalty", 1.0},
                                           {"encoder_no_repeat_ngram_size", 0},
                                           {"forced_bos_token_id", nullptr},
                                           {"forced_eos_token_id", nullptr},
                                           {"remove_invalid_values", false},
                                           {"exponential_decay_length_penalty", nullptr},
                                           {"forced_decoder_ids", nullptr},
                                           {"token_healing", false},
                                           {"watermarking_config", nullptr},
                                           {"constraints", nullptr},
                                           {"force_words_ids", nullptr},
                                           {"max_time", nullptr}};
  return keys;
}

// Keys that do not change the tokens of a single completion: names, caches, output formats, draft models, beam options without beams.
constexpr const char* no_effect[] = {"transformers_version",
                                     "decoder_start_token_id",
                                     "early_stopping",
                                     "length_penalty",
                                     "use_cache",
                                     "cache_implementation",
                                     "cache_config",
                                     "return_legacy_cache",
                                     "prefill_chunk_size",
                                     "renormalize_logits",
                                     "output_attentions",
                                     "output_hidden_states",
                                     "output_scores",
                                     "output_logits",
                                     "return_dict_in_generate",
                                     "is_assistant",
                                     "num_assistant_tokens",
                                     "num_assistant_tokens_schedule",
                                     "assistant_confidence_threshold",
                                     "prompt_lookup_num_tokens",
                                     "max_matching_ngram_size",
                                     "assistant_early_exit",
                                     "assistant_lookbehind",
                                     "target_lookbehind",
                                     "compile_config",
                                     "disable_compile",
                                     "low_memory",
                                     "chat_format",
                                     "trust_remote_code"};

constexpr const char* supported[] = {"do_sample",       "temperature",           "top_k",         "top_p",          "min_p",
                                     "typical_p",       "epsilon_cutoff",        "eta_cutoff",    "min_length",     "repetition_penalty",
                                     "suppress_tokens", "begin_suppress_tokens", "sequence_bias", "bad_words_ids",  "no_repeat_ngram_size",
                                     "eos_token_id",    "bos_token_id",          "pad_token_id",  "max_new_tokens", "max_length",
                                     "min_new_tokens",  "stop_strings"};

std::vector<std::string> warnings_of(const Config& c) {
  std::vector<std::string> lines;
  const auto is_one_of = [](const auto& names, const std::string& key) {
    return std::find(std::begin(names), std::end(names), key) != std::end(names);
  };
  for (const std::string& key : c.keys()) {
    if (key.starts_with('_') || !c.has(key) || is_one_of(no_effect, key) || is_one_of(supported, key)) continue;
    const auto& ignorable = unsupported();
    const auto known = std::find_if(ignorable.begin(), ignorable.end(), [&](const Ignorable& i) { return key == i.key; });
    if (known != ignorable.end() && value_of(c, key.c_str()) == known->harmless) continue;
    lines.push_back(one_line(fmt::format("{}: '{}' {} is ignored", c.where(), key, c.dump(key))));
  }
  return lines;
}

// Copies what is stated.
template <class To, class From> void set(To& to, const std::optional<From>& from) {
  if (from) to = *from;
}

bool asks_for_a_draw(const SamplingRequest& r) {
  return r.top_k || r.top_p || r.min_p || r.typical_p || r.epsilon_cutoff || r.eta_cutoff || r.top_n_sigma || r.xtc_probability ||
         r.mirostat.value_or(0) != 0;
}

uint64_t fresh_seed() {
  std::random_device device;
  return uint64_t(device()) << 32 | device();
}

// What a request names.
void take(const SamplingRequest& r, SamplingParameters& p) {
  set(p.temperature, r.temperature);
  set(p.top_k, r.top_k);
  set(p.top_p, r.top_p);
  set(p.min_p, r.min_p);
  set(p.typical_p, r.typical_p);
  set(p.epsilon_cutoff, r.epsilon_cutoff);
  set(p.eta_cutoff, r.eta_cutoff);
  set(p.top_n_sigma, r.top_n_sigma);
  set(p.xtc_probability, r.xtc_probability);
  set(p.xtc_threshold, r.xtc_threshold);
  set(p.mirostat, r.mirostat);
  set(p.mirostat_tau, r.mirostat_tau);
  set(p.mirostat_eta, r.mirostat_eta);
  set(p.repetition_penalty, r.repetition_penalty);
  set(p.presence_penalty, r.presence_penalty);
  set(p.frequency_penalty, r.frequency_penalty);
  set(p.repeat_last_n, r.repeat_last_n);
  set(p.dry.multiplier, r.dry_multiplier);
  set(p.dry.base, r.dry_base);
  set(p.dry.allowed_length, r.dry_allowed_length);
  set(p.dry.last_n, r.dry_last_n);
  set(p.dry.breakers, r.dry_breakers);
  for (const auto& [token, bias] : r.logit_bias) p.sequence_bias.push_back({{token}, bias});
}

}  // namespace

GenerationDefaults GenerationDefaults::read(const Config& c) {
  GenerationDefaults d;
  d.do_sample = c.boolean("do_sample", false);
  d.temperature = number(c, "temperature");
  d.top_k = integer(c, "top_k");
  d.top_p = number(c, "top_p");
  d.min_p = number(c, "min_p");
  d.typical_p = number(c, "typical_p");
  d.epsilon_cutoff = number(c, "epsilon_cutoff");
  d.eta_cutoff = number(c, "eta_cutoff");
  d.repetition_penalty = number(c, "repetition_penalty");
  d.no_repeat_ngram_size = c.integer("no_repeat_ngram_size", 0);
  d.min_new_tokens = c.integer("min_new_tokens", 0);
  d.min_length = c.integer("min_length", 0);
  d.suppress_tokens = ids(c, "suppress_tokens");
  d.begin_suppress_tokens = ids(c, "begin_suppress_tokens");
  d.eos_token_ids = one_or_more_ids(c, "eos_token_id");
  d.bos_token_id = one_id(c, "bos_token_id");
  d.pad_token_id = one_id(c, "pad_token_id");
  d.max_new_tokens = integer(c, "max_new_tokens");
  d.max_length = integer(c, "max_length");
  d.stop_strings = texts(c, "stop_strings");
  d.sequence_bias = sequence_biases(c, "sequence_bias");
  if (c.has("bad_words_ids"))
    for (auto& word : id_lists(c, "bad_words_ids")) {
      const bool is_end = word.size() == 1 && std::find(d.eos_token_ids.begin(), d.eos_token_ids.end(), word[0]) != d.eos_token_ids.end();
      if (!is_end) d.sequence_bias.push_back({std::move(word), -std::numeric_limits<float>::infinity()});
    }
  d.warnings = warnings_of(c);

  SamplingParameters p;  // checks all values, whether or not a request uses them
  set(p.temperature, d.temperature);
  set(p.top_k, d.top_k);
  set(p.top_p, d.top_p);
  set(p.min_p, d.min_p);
  set(p.typical_p, d.typical_p);
  set(p.epsilon_cutoff, d.epsilon_cutoff);
  set(p.eta_cutoff, d.eta_cutoff);
  set(p.repetition_penalty, d.repetition_penalty);
  p.no_repeat_ngram_size = d.no_repeat_ngram_size;
  p.min_new_tokens = d.min_new_tokens;
  p.min_length = d.min_length;
  if (const auto problem = problem_of(p))
    fail<WeightError>("{}: '{}' is {}, expected {}", c.where(), problem->name, problem->value, problem->needed);
  return d;
}

std::optional<ParameterProblem> problem_of(const SamplingRequest& request) {
  SamplingParameters p;
  take(request, p);
  return problem_of(p);
}

SamplingParameters resolve(const GenerationDefaults& file, const SamplingRequest& r) {
  SamplingParameters p;
  p.order = sampling_order(r.order.empty() ? "hf" : r.order);
  const auto has = [&](Stage stage) { return std::find(p.order.begin(), p.order.end(), stage) != p.order.end(); };
  const bool mirostat = r.mirostat.value_or(0) != 0;

  p.no_repeat_ngram_size = file.no_repeat_ngram_size;
  p.min_new_tokens = file.min_new_tokens;
  p.min_length = file.min_length;
  p.suppress_tokens = file.suppress_tokens;
  p.begin_suppress_tokens = file.begin_suppress_tokens;
  p.sequence_bias = file.sequence_bias;
  p.end_tokens = file.eos_token_ids;

  if (r.temperature == 0.0) {
    p.temperature = 0;
  } else if (r.order == "llama.cpp") {
    p.temperature = 0.8;
    p.repeat_last_n = 64;
    if (!mirostat) p.top_k = 40, p.top_p = 0.95, p.min_p = 0.05;
  } else {
    const bool draws = r.temperature || file.do_sample || asks_for_a_draw(r);
    p.temperature = draws ? has(Stage::temperature) ? file.temperature.value_or(1) : 1 : 0;
    if (has(Stage::penalties)) set(p.repetition_penalty, file.repetition_penalty);
    if (!mirostat) {
      if (has(Stage::top_k)) set(p.top_k, file.top_k);
      if (has(Stage::top_p)) set(p.top_p, file.top_p);
      if (has(Stage::min_p)) set(p.min_p, file.min_p);
      if (has(Stage::typical)) set(p.typical_p, file.typical_p);
      if (has(Stage::epsilon_cutoff)) set(p.epsilon_cutoff, file.epsilon_cutoff);
      if (has(Stage::eta_cutoff)) set(p.eta_cutoff, file.eta_cutoff);
    }
  }

  take(r, p);
  p.seed = r.seed ? *r.seed : fresh_seed();
  check(p);
  return p;
}

}  // namespace hearth::sampling
