// Sampling and length in the requests of all text APIs.
#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <random>

#include "core/error.h"
#include "server/api/openapi.h"
#include "server/text/chat.h"
#include "text/grammar/gbnf.h"

namespace hearth::server {
namespace {

using sampling::SamplingRequest;

constexpr double any = std::numeric_limits<double>::infinity();
constexpr int64_t most = std::numeric_limits<int32_t>::max();

struct NumberRow {
  std::string_view name;
  std::optional<double> SamplingRequest::*member;
  double least, most;
  bool above_least = false, below_most = false;  // the bounds themselves are excluded
};
constexpr NumberRow numbers[] = {
    {"temperature", &SamplingRequest::temperature, 0, 100},
    {"top_p", &SamplingRequest::top_p, 0, 1},
    {"min_p", &SamplingRequest::min_p, 0, 1},
    {"typical_p", &SamplingRequest::typical_p, 0, 1, true},
    {"epsilon_cutoff", &SamplingRequest::epsilon_cutoff, 0, 1, false, true},
    {"eta_cutoff", &SamplingRequest::eta_cutoff, 0, 1, false, true},
    {"top_n_sigma", &SamplingRequest::top_n_sigma, 0, any},
    {"xtc_probability", &SamplingRequest::xtc_probability, 0, 1},
    {"xtc_threshold", &SamplingRequest::xtc_threshold, 0, 1},
    {"mirostat_tau", &SamplingRequest::mirostat_tau, 0, any},
    {"mirostat_eta", &SamplingRequest::mirostat_eta, 0, 1},
    {"repetition_penalty", &SamplingRequest::repetition_penalty, 0, any, true},
    {"repeat_penalty", &SamplingRequest::repetition_penalty, 0, any, true},  // llama.cpp's name
    {"presence_penalty", &SamplingRequest::presence_penalty, -2, 2},
    {"frequency_penalty", &SamplingRequest::frequency_penalty, -2, 2},
    {"dry_multiplier", &SamplingRequest::dry_multiplier, 0, any},
    {"dry_base", &SamplingRequest::dry_base, 1, any},
};

struct IntegerRow {
  std::string_view name;
  std::optional<int64_t> SamplingRequest::*member;
  int64_t least, most;
};
constexpr IntegerRow integers[] = {
    {"top_k", &SamplingRequest::top_k, -1, most},
    {"mirostat", &SamplingRequest::mirostat, 0, 2},
    {"repeat_last_n", &SamplingRequest::repeat_last_n, -1, most},
    {"dry_allowed_length", &SamplingRequest::dry_allowed_length, 1, most},
    {"dry_last_n", &SamplingRequest::dry_last_n, -1, most},
};

constexpr size_t most_stops = 64;

std::vector<std::pair<int32_t, float>> logit_bias(const Fields& request, const LanguageService& service) {
  std::vector<std::pair<int32_t, float>> all;
  const auto biases = request.object("logit_bias");
  if (!biases) return all;
  for (const auto& [key, value] : biases->json().items()) {
    int64_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0 || id >= service.state().model->sizes().vocabulary)
      biases->refuse(key, fmt::format("expected a token id from 0 to {}", service.state().model->sizes().vocabulary - 1));
    const auto bias = biases->number(key, -100, 100);
    if (!bias) continue;
    all.emplace_back(int32_t(id), *bias == -100 ? -std::numeric_limits<float>::infinity() : float(*bias));
  }
  return all;
}

// Names the field where the command names its flag.
void check_order(const std::function<void()>& resolve) {
  constexpr std::string_view flag = "--sampling-order: ";
  try {
    resolve();
  } catch (const UsageError& e) {
    if (!std::string_view(e.what()).starts_with(flag)) throw;
    throw ApiError(400, fmt::format("samplers_order: {}", std::string_view(e.what()).substr(flag.size())), "samplers_order");
  }
}

}  // namespace

std::vector<FieldDoc> generation_docs() {
  std::vector<FieldDoc> all;
  for (const NumberRow& row : numbers)
    all.push_back({std::string(row.name), "number", "", row.least, row.most, row.above_least, row.below_most});
  for (const IntegerRow& row : integers) all.push_back({std::string(row.name), "integer", "", double(row.least), double(row.most)});
  const std::vector<FieldDoc> others{
      {"seed", "integer", "Of the random choice; -1: a random one", {}, {}},
      {"samplers_order", "string", "Order of the sampling stages: hf, llama.cpp, or names with commas", {}, {}},
      {"logit_bias", "object", "Added to the logits of these token ids; -100 forbids one", {}, {}},
      {"stop_token_ids", "array", "Tokens that end the answer", {}, {}},
      {"include_stop_str_in_output", "boolean", "The stop sequence is part of the answer", {}, {}},
      {"ignore_eos", "boolean", "Continue past the end tokens", {}, {}},
      {"min_tokens", "integer", "Tokens before an end token may come", 0, {}},
      {"priority", "integer", "Lower is earlier", -1000, 1000},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

GenerationFields generation_fields(const Fields& request, const LanguageService& service) {
  GenerationFields made;
  for (const NumberRow& row : numbers)
    if (const auto value = request.number(row.name, row.least, row.most)) made.sampling.*row.member = value;
  for (const IntegerRow& row : integers)
    if (const auto value = request.integer(row.name, row.least, row.most)) made.sampling.*row.member = value;
  if (made.sampling.top_k && *made.sampling.top_k < 0) made.sampling.top_k = 0;  // −1: off, as elsewhere
  if (const auto seed = request.integer("seed", std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()))
    if (*seed != -1) made.sampling.seed = uint64_t(*seed);
  if (const auto problem = sampling::problem_of(made.sampling)) {
    const bool short_name = problem->name == "repetition_penalty" && request.has("repeat_penalty");
    request.refuse(short_name ? "repeat_penalty" : problem->name, fmt::format("{}, expected {}", problem->value, problem->needed));
  }
  if (const auto order = request.text("samplers_order")) {
    check_order([&] { sampling::sampling_order(*order); });
    made.sampling.order = *order;
  }
  if (const Json* const lora = request.list("lora"); lora && !lora->empty())  // llama.cpp's field
    request.refuse("lora", "strengths of adapters cannot change by request, expected the adapter's name (--lora NAME=FILE) as the model",
                   "unsupported");
  made.sampling.logit_bias = logit_bias(request, service);
  if (auto stop = request.texts("stop")) {
    if (stop->size() > most_stops) request.refuse("stop", fmt::format("{} stop sequences, expected at most {}", stop->size(), most_stops));
    for (const std::string& s : *stop)
      if (s.empty()) request.refuse("stop", "an empty stop sequence");
    made.stop = std::move(*stop);
  }
  if (const Json* ids = request.list("stop_token_ids"))
    for (size_t i = 0; i < ids->size(); ++i) {
      if (!(*ids)[i].is_number_integer() || (*ids)[i] < 0 || (*ids)[i] >= service.state().model->sizes().vocabulary)
        request.refuse("stop_token_ids", "expected token ids of the vocabulary");
      made.stop_token_ids.push_back((*ids)[i].get<int32_t>());
    }
  made.include_stop = request.flag("include_stop_str_in_output").value_or(false);
  made.ignore_end = request.flag("ignore_eos").value_or(false);
  made.min_tokens = request.integer("min_tokens", 0, most).value_or(0);
  made.priority = request.integer("priority", -1000, 1000).value_or(0);
  return made;
}

engine::Request engine_request(const GenerationFields& fields, const LanguageService& service, std::vector<int32_t> prompt) {
  engine::Request r;
  const int64_t room = service.engine().context() - std::ssize(prompt);
  r.prompt = std::move(prompt);
  r.max_tokens = std::max<int64_t>(0, std::min(fields.max_tokens.value_or(room), room));
  sampling::SamplingRequest wanted = fields.sampling;
  if (!wanted.seed) wanted.seed = std::random_device{}() | uint64_t(std::random_device{}()) << 32;
  check_order([&] { r.sampling = sampling::resolve(service.state().defaults, wanted); });
  r.sampling.min_new_tokens = std::max(r.sampling.min_new_tokens, fields.min_tokens);
  r.stop = fields.stop;
  r.include_stop = fields.include_stop;
  if (!fields.ignore_end) r.end_tokens = service.end_tokens();
  r.end_tokens.insert(r.end_tokens.end(), fields.stop_token_ids.begin(), fields.stop_token_ids.end());
  r.sampling.end_tokens = r.end_tokens;
  r.choices = fields.choices;
  r.logprobs = fields.logprobs;
  r.priority = fields.priority;
  return r;
}

}  // namespace hearth::server
