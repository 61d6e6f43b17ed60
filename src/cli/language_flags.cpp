#include "cli/language_flags.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/open_flags.h"
#include "cli/say.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

void optional_number(Flags& flags, const std::string& names, const std::string& help, std::optional<double>& value,
                     const std::string& unset = "the checkpoint's own, else off") {
  flags.add(names, "X", help, unset, [&value](const std::string& t) { value = parse_number(t); });
}
void optional_integer(Flags& flags, const std::string& names, const std::string& help, std::optional<int64_t>& value,
                      const std::string& unset = "the checkpoint's own, else off") {
  flags.integer(names, help, value, unset, {.low = std::numeric_limits<int64_t>::min()});
}

// "17:-2.5", "17:-inf"
std::pair<int32_t, float> parse_bias(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == text.npos) fail<UsageError>("'{}' is no bias, needed ID:NUMBER", text);
  const auto id = int32_t(parse_integer(text.substr(0, colon), 0, std::numeric_limits<int32_t>::max()));
  const std::string number = text.substr(colon + 1);
  if (number == "-inf") return {id, -INFINITY};
  return {id, float(parse_number(number))};
}

std::string to_json(const Completion& made, const CompletionRequest& request, const LanguageModel& model) {
  Json j = {{"prompt_tokens", made.prompt_tokens}, {"tokens", made.tokens}, {"text", made.text}, {"finish_reason", made.finish_reason}};
  if (request.logprobs) {
    j["logprobs"] = Json::array();
    for (const TokenLogprob& t : made.logprobs) {
      Json top = Json::array();
      for (const auto& [token, logprob] : t.top) top.push_back({token, logprob});
      j["logprobs"].push_back({{"token", t.token}, {"logprob", t.logprob}, {"top", top}});
    }
  }
  if (request.prompt_logprobs) {
    j["prompt_logprobs"] = Json::array();
    for (const std::optional<float>& x : made.prompt_logprobs) j["prompt_logprobs"].push_back(x ? Json(*x) : Json());
  }
  const auto rate = [](double tokens, double seconds) { return seconds > 0 ? tokens / seconds : 0.0; };
  const auto prompt = double(made.prompt_tokens.size()) - double(made.cached_tokens), decoded = double(made.tokens.size()) - 1;
  j["seed"] = made.seed;
  j["warnings"] = made.warnings;
  j["timings"] = {{"load_seconds", model.load_seconds()},
                  {"cached_tokens", made.cached_tokens},
                  {"prompt_seconds", made.prompt_seconds},
                  {"prompt_tokens_per_second", rate(prompt, made.prompt_seconds)},
                  {"first_token_seconds", made.first_token_seconds},
                  {"decode_seconds", made.decode_seconds},
                  {"decode_tokens_per_second", rate(std::max(0.0, decoded), made.decode_seconds)}};
  if (!made.debug.empty()) j["debug"] = Json::parse(made.debug);
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void LanguageFlags::add_to(Flags& flags) {
  flags.path("-m,--model", "Checkpoint: a folder with config.json, or a GGUF file", model, "the small model that comes with hearth");
  flags.text("--variant", "NAME", "Open the files *.NAME.safetensors of the checkpoint, e.g. fp16", variant, "those without a variant");
  flags.choice("--device", "", "What computes", device, {.names = names_of(list_backends())});
  flags.add("-t,--threads", "N", "Processor threads", "all processors",
            [this](const std::string& t) { threads = int(parse_integer(t, 1, 1024)); });
  flags.toggle("--pin-threads", "Bind each thread to a processor of its own", pin);
  flags.choice("--precision", "",
               "Type that the weights are rounded to; auto, f32: as stored. Blocks stay as stored: auto multiplies them as integers; bf16 "
               "multiplies all as bf16 where the processor can",
               precision, {.names = {"auto", "f32", "bf16", "f16"}});
  flags.choice("--cache-type", "", "Type of the keys and values of the text so far", cache_type, {.names = {"f32", "f16", "bf16", "q8_0"}});
}

LanguageOptions LanguageFlags::options() const {
  LanguageOptions o{.variant = variant,
                    .device = device,
                    .threads = threads,
                    .pin_threads = pin,
                    .precision = precision_of(precision),
                    .cancel = &cancelled};
  if (cache_type == "f16") o.cache_type = CacheType::f16;
  if (cache_type == "bf16") o.cache_type = CacheType::bf16;
  if (cache_type == "q8_0") o.cache_type = CacheType::q8_0;
  return o;
}

LanguageModel LanguageFlags::open(const OnProgress& progress, const std::function<void(const LanguageModel&)>& before_loading) const {
  LanguageOptions o = options();
  o.progress = progress;
  o.before_loading = before_loading;
  if (!model.empty()) return LanguageModel::open(model, o);
  say("without --model the demo model answers, a toy that has learned from made-up text");
  return LanguageModel::open_demo(o);
}

void AnswerFlags::add_to(Flags& flags) {
  Sampling& s = request.sampling;
  optional_integer(flags, "--max-tokens", "Most tokens of the answer; 0: none", request.max_tokens, "the checkpoint's own, else 256");
  optional_integer(flags, "--context", "Room for prompt and answer, in tokens", request.context, "what the model was trained for");
  optional_number(flags, "--temperature", "Scores are divided by it before a token is drawn; 0: always the most probable token",
                  s.temperature, "the checkpoint's own, else 0");
  optional_integer(flags, "--top-k", "Draw among the N most probable tokens; 0: all", s.top_k);
  optional_number(flags, "--top-p", "Draw among the fewest tokens that together have this probability", s.top_p);
  optional_number(flags, "--min-p", "Draw among tokens with at least this fraction of the largest probability", s.min_p);
  optional_number(flags, "--typical-p", "Draw among the tokens nearest to the expected surprise, with this probability together",
                  s.typical_p);
  optional_number(flags, "--epsilon-cutoff", "Draw among tokens with at least this probability", s.epsilon_cutoff);
  optional_number(flags, "--eta-cutoff", "The same with a bound that falls with the entropy", s.eta_cutoff);
  optional_number(flags, "--top-n-sigma", "Draw among tokens within so many standard deviations of the best score", s.top_n_sigma, "off");
  optional_number(flags, "--xtc-probability", "How often all but the least of the probable tokens are excluded", s.xtc_probability, "off");
  optional_number(flags, "--xtc-threshold", "What counts as probable there", s.xtc_threshold, "0.1");
  optional_number(flags, "--dry-multiplier", "Penalty of tokens that would repeat a sequence", s.dry_multiplier, "off");
  optional_number(flags, "--dry-base", "How it grows with the sequence", s.dry_base, "1.75");
  optional_integer(flags, "--dry-allowed-length", "Sequences up to this length are free", s.dry_allowed_length, "2");
  optional_integer(flags, "--dry-last-n", "Tokens that are searched; -1: all", s.dry_last_n, "-1");
  flags.list("--dry-sequence-breaker", "TEXT", "No sequence reaches across this text", dry_breakers, "line feed, : \" *");
  optional_integer(flags, "--mirostat", "2: hold the surprise of the text at a target", s.mirostat, "0: off");
  optional_number(flags, "--mirostat-tau", "That target, in bits", s.mirostat_tau, "5");
  optional_number(flags, "--mirostat-eta", "How fast it is approached", s.mirostat_eta, "0.1");
  optional_number(flags, "--repetition-penalty", "Divides the scores of tokens that prompt or answer hold", s.repetition_penalty);
  optional_number(flags, "--presence-penalty", "Taken from the scores of tokens that the answer holds", s.presence_penalty, "0");
  optional_number(flags, "--frequency-penalty", "The same for each time that it holds them", s.frequency_penalty, "0");
  optional_integer(flags, "--repeat-last-n", "Tokens that the three look at; -1: all", s.repeat_last_n, "-1");
  flags.add("--logit-bias", "ID:X[,ID:X]", "Added to the scores of tokens; -inf forbids one", "none", [this](const std::string& t) {
    for (size_t begin = 0; begin <= t.size();) {
      const size_t end = std::min(t.find(',', begin), t.size());
      request.sampling.logit_bias.push_back(parse_bias(t.substr(begin, end - begin)));
      begin = end + 1;
    }
  });
  flags.text("--sampling-order", "NAMES", "Order of the stages: hf, llama.cpp (with its defaults), or their names, separated by commas",
             s.order, "hf");
  flags.add("--seed", "N", "Of the draws", "random", [&s](const std::string& t) { s.seed = parse_seed(t); });
  flags.list("--stop", "TEXT", "End the answer before this text", request.stop);
  flags.add("--stop-ids", "ID[,ID]", "End the answer with one of these tokens, beside the checkpoint's own", "none",
            [this](const std::string& t) { request.stop_ids = parse_ids(t); });
  flags.toggle("--ignore-end", "Go on past the checkpoint's end tokens", request.ignore_end);
}

CompletionRequest AnswerFlags::resolved() const {
  CompletionRequest r = request;
  if (!dry_breakers.empty()) r.sampling.dry_breakers = dry_breakers;
  return r;
}

Completion print_answer(LanguageModel& model, CompletionRequest request, bool json, ProgressLine& line) {
  bool begun = false;
  request.progress = [&line](const Progress& p) { line.update(p); };
  request.cancel = &cancelled;
  if (!json)
    request.on_text = [&](std::string_view text) {
      line.finish();
      begun = true;
      fmt::print("{}", text);
      std::fflush(stdout);
    };
  try {
    const Completion made = model.complete(request);
    line.finish();
    for (const std::string& warning : made.warnings) line.say("hearth: warning: " + warning);
    fmt::print("{}\n", json ? to_json(made, request, model) : "");
    return made;
  } catch (const Error&) {
    if (begun) fmt::print("\n");
    throw;
  }
}

std::string memory_line(const LanguageModel::Plan& plan) {
  return fmt::format("hearth: memory: {} of weights, mapped; {} for keys and values of {} tokens", format_bytes(plan.weight_bytes),
                     format_bytes(plan.cache_bytes), plan.context);
}

std::string prompt_json(const RenderedChat& rendered) {
  return Json{{"prompt", rendered.text}, {"ids", rendered.ids}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hearth::cli
