#include "sampling/tokens/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace hearth::sampling {
namespace {

constexpr std::array<std::string_view, 11> names{"penalties", "dry",       "temperature",    "top_n_sigma", "top_k", "top_p",
                                                 "min_p",     "typical_p", "epsilon_cutoff", "eta_cutoff",  "xtc"};

constexpr double infinity = std::numeric_limits<double>::infinity();

// Whether a stage is active.
bool is_set(const SamplingParameters& p, Stage stage) {
  switch (stage) {
    case Stage::penalties: return p.repetition_penalty != 1 || p.presence_penalty != 0 || p.frequency_penalty != 0;
    case Stage::dry: return p.dry.multiplier != 0;
    case Stage::temperature: return p.temperature != 1 && p.temperature != 0;
    case Stage::top_n_sigma: return p.top_n_sigma != 0;
    case Stage::top_k: return p.top_k != 0;
    case Stage::top_p: return p.top_p != 1;
    case Stage::min_p: return p.min_p != 0;
    case Stage::typical: return p.typical_p != 1;
    case Stage::epsilon_cutoff: return p.epsilon_cutoff != 0;
    case Stage::eta_cutoff: return p.eta_cutoff != 0;
    case Stage::xtc: return p.xtc_probability != 0;
  }
  return false;
}

std::string shown(const std::vector<int32_t>& tokens) { return fmt::format("{}", fmt::join(tokens, ",")); }

}  // namespace

std::string_view name_of(Stage stage) { return names[size_t(stage)]; }

std::vector<Stage> sampling_order(std::string_view text) {
  using enum Stage;
  if (text == "hf") return {penalties, dry, temperature, top_n_sigma, top_k, top_p, min_p, typical, epsilon_cutoff, eta_cutoff, xtc};
  if (text == "llama.cpp") return {penalties, dry, top_n_sigma, top_k, typical, top_p, min_p, epsilon_cutoff, eta_cutoff, xtc, temperature};
  std::vector<Stage> order;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end())
      fail<UsageError>("--sampling-order: '{}' is not a stage, expected hf, llama.cpp or a list of {}", name, fmt::join(names, ","));
    const auto stage = Stage(at - names.begin());
    if (std::find(order.begin(), order.end(), stage) != order.end()) fail<UsageError>("--sampling-order: '{}' occurs twice", name);
    order.push_back(stage);
    begin = end + 1;
  }
  return order;
}

std::optional<ParameterProblem> problem_of(const SamplingParameters& p) {
  std::optional<ParameterProblem> first;
  const auto need = [&](bool ok, const char* name, const auto& value, const char* needed) {
    if (!ok && !first) first = {name, fmt::format("{}", value), needed};
  };
  const auto from_0_to_1 = [&](const char* name, double x) { need(x >= 0 && x <= 1, name, x, "a number from 0 to 1"); };
  const auto not_negative = [&](const char* name, double x) { need(x >= 0 && x < infinity, name, x, "a number of at least 0"); };
  const auto finite = [&](const char* name, double x) { need(std::isfinite(x), name, x, "a finite number"); };
  const auto whole = [&](const char* name, int64_t x, int64_t low, const char* needed) { need(x >= low, name, x, needed); };

  not_negative("temperature", p.temperature);
  whole("top_k", p.top_k, 0, "0 (off) or more");
  from_0_to_1("top_p", p.top_p);
  from_0_to_1("min_p", p.min_p);
  need(p.typical_p > 0 && p.typical_p <= 1, "typical_p", p.typical_p, "a number above 0, up to 1");
  need(p.epsilon_cutoff >= 0 && p.epsilon_cutoff < 1, "epsilon_cutoff", p.epsilon_cutoff, "a number from 0 to below 1");
  need(p.eta_cutoff >= 0 && p.eta_cutoff < 1, "eta_cutoff", p.eta_cutoff, "a number from 0 to below 1");
  not_negative("top_n_sigma", p.top_n_sigma);
  from_0_to_1("xtc_probability", p.xtc_probability);
  from_0_to_1("xtc_threshold", p.xtc_threshold);
  need(p.mirostat == 0 || p.mirostat == 2, "mirostat", p.mirostat, "0 (off) or 2");
  not_negative("mirostat_tau", p.mirostat_tau);
  from_0_to_1("mirostat_eta", p.mirostat_eta);
  need(p.repetition_penalty > 0 && p.repetition_penalty < infinity, "repetition_penalty", p.repetition_penalty, "a number above 0");
  finite("presence_penalty", p.presence_penalty);
  finite("frequency_penalty", p.frequency_penalty);
  whole("repeat_last_n", p.repeat_last_n, -1, "-1 (all) or more");
  not_negative("dry_multiplier", p.dry.multiplier);
  need(p.dry.base >= 1 && p.dry.base < infinity, "dry_base", p.dry.base, "a number of at least 1");
  whole("dry_allowed_length", p.dry.allowed_length, 1, "1 or more");
  whole("dry_last_n", p.dry.last_n, -1, "-1 (all) or more");
  for (const auto& breaker : p.dry.breakers) need(!breaker.empty(), "dry_sequence_breaker", "of no tokens", "at least one token");
  for (const auto& [tokens, bias] : p.sequence_bias) {
    const bool ids = !tokens.empty() && std::all_of(tokens.begin(), tokens.end(), [](int32_t t) { return t >= 0; });
    need(ids, "logit_bias", shown(tokens), "token ids of at least 0");
    need(!std::isnan(bias) && bias < infinity, "logit_bias", bias, "a finite number, or -inf to forbid the token");
  }
  whole("no_repeat_ngram_size", p.no_repeat_ngram_size, 0, "0 (off) or more");
  whole("min_new_tokens", p.min_new_tokens, 0, "0 or more");
  whole("min_length", p.min_length, 0, "0 or more");
  whole("vocabulary", p.vocabulary, 0, "0 (all) or more");
  return first;
}

void check(const SamplingParameters& p) {
  const auto flag = [](std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    return "--" + name;
  };
  if (const auto problem = problem_of(p)) fail<UsageError>("{} {}: expected {}", flag(problem->name), problem->value, problem->needed);
  for (size_t i = 0; i < names.size(); ++i)
    if (is_set(p, Stage(i)) && std::find(p.order.begin(), p.order.end(), Stage(i)) == p.order.end())
      fail<UsageError>("--sampling-order: {} is set but not listed, expected {} in the order", names[i], names[i]);
}

}  // namespace hearth::sampling
