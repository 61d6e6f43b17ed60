#include "cli/language_flags.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/log.h"
#include "cli/open_flags.h"
#include "core/error.h"
#include "hearth/settings.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* of_checkpoint = "the checkpoint's own, else off";

Flag& optional_number(Flags& flags, const std::string& names, const std::string& help, std::optional<double>& value,
                      const std::string& unset = of_checkpoint) {
  return flags.number(names, help, value, unset);
}
Flag& optional_integer(Flags& flags, const std::string& names, const std::string& help, std::optional<int64_t>& value,
                       const std::string& unset = of_checkpoint) {
  return flags.integer(names, help, value, unset, {.low = std::numeric_limits<int64_t>::min()});
}

// "17:-2.5", "17:-inf"
std::pair<int32_t, float> parse_bias(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == text.npos) fail<UsageError>("'{}' is not a bias, expected ID:BIAS", text);
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
  if (!made.debug.empty()) return with_member(j, "debug", made.debug);
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void LanguageFlags::add_model(Flags& flags) {
  flags.group("Model");
  flags.path("-m,--model", "Checkpoint: a folder with config.json, or a GGUF file", model, "the demo language model").in_basic_help();
  add_variant(flags, variant);
  flags.add_each("--lora", "FILE[:SCALE]",
                 "Adapter for the model, of PEFT (a file or its folder) or a GGUF file, and its strength; repeat it for several",
                 "none; SCALE 1", [this](const std::string& text) { loras.push_back(parse_lora(text)); });
}

void LanguageFlags::add_device(Flags& flags) {
  flags.group("Memory and performance");
  add_device_flag(flags, "--device", device_help, device, "");
  add_gpu_share(flags, "layers", gpu_layers, gpu_memory);
  add_threads(flags, threads).in_basic_help();
  add_pin_threads(flags, pin);
  flags
      .choice("--precision", "",
              "Type that weights are rounded to. auto and f32 keep them as stored; auto multiplies quantized weights as integers, bf16 "
              "multiplies everything as bf16 on CPUs that support it",
              precision, {.names = {"auto", "f32", "bf16", "f16"}})
      .also("--dtype");
  flags
      .choice("--kv-cache-type", "", "Type of the KV cache; a smaller type saves memory on long contexts", cache_type,
              {.names = {"f32", "f16", "bf16", "q8_0"}})
      .also("--cache-type,--kv-cache-dtype");
}

LanguageOptions LanguageFlags::options() const {
  LanguageOptions o{.variant = variant,
                    .device = named_device(device),
                    .threads = threads,
                    .pin_threads = pin,
                    .gpu_layers = gpu_layers,
                    .gpu_memory = gpu_memory,
                    .gpu_context = gpu_context,
                    .precision = precision_of(precision),
                    .loras = loras,
                    .cancel = &canceled};
  if (cache_type == "f16") o.cache_type = CacheType::f16;
  if (cache_type == "bf16") o.cache_type = CacheType::bf16;
  if (cache_type == "q8_0") o.cache_type = CacheType::q8_0;
  return o;
}

LanguageModel LanguageFlags::open(const OnProgress& progress, const std::function<void(const LanguageModel&)>& before_loading) const {
  LanguageOptions o = options();
  o.progress = progress;
  o.before_loading = before_loading;
  if (!model.empty()) {
    LanguageModel opened = LanguageModel::open(model, o);
    if (const std::string text = opened.quantized().text(); !text.empty()) log_info(text);
    for (const std::string& note : opened.adapter_notes()) log_info(note);
    return opened;
  }
  log_info("no --model: using the built-in demo model, a toy; hearth pull ORG/NAME downloads a checkpoint, -m PATH runs it");
  return LanguageModel::open_demo(o);
}

void SamplingFlags::add_to(Flags& flags) {
  Sampling& s = request.sampling;
  flags.group("Sampling");
  optional_integer(flags, "-n,--max-tokens", "Maximum number of tokens to generate; 0 only runs the prompt", request.max_tokens,
                   "the checkpoint's own, else 256")
      .also("--n-predict,--predict,--max-new-tokens")
      .in_basic_help();
  optional_number(flags, "--temperature",
                  "Temperature that divides the logits: higher is more random, 0 always chooses the likeliest token", s.temperature,
                  "the checkpoint's own, else 0")
      .also("--temp")
      .in_basic_help();
  optional_integer(flags, "--top-k", "Sample among the N likeliest tokens; 0: all", s.top_k).in_basic_help();
  optional_number(flags, "--top-p", "Nucleus sampling: sample among the fewest tokens with this total probability", s.top_p)
      .in_basic_help();
  optional_number(flags, "--min-p", "Sample among tokens with at least this fraction of the largest probability", s.min_p);
  optional_number(flags, "--typical-p", "Locally typical sampling: tokens of near-average information, with this total probability",
                  s.typical_p)
      .also("--typical");
  optional_number(flags, "--epsilon-cutoff", "Sample among tokens with at least this probability", s.epsilon_cutoff);
  optional_number(flags, "--eta-cutoff", "Eta sampling: a probability cutoff that falls as the entropy rises", s.eta_cutoff);
  optional_number(flags, "--top-n-sigma", "Sample among tokens whose logits are within this many standard deviations of the maximum",
                  s.top_n_sigma, "off")
      .also("--top-nsigma");
  optional_number(flags, "--xtc-probability", "XTC: probability of excluding all but the least likely of the top choices",
                  s.xtc_probability, "off");
  optional_number(flags, "--xtc-threshold", "XTC: probability from which a token is a top choice", s.xtc_threshold, "0.1");
  optional_number(flags, "--dry-multiplier", "DRY: strength of the penalty on tokens that would extend a repeated sequence",
                  s.dry_multiplier, "off");
  optional_number(flags, "--dry-base", "DRY: growth of the penalty with the sequence's length", s.dry_base, "1.75");
  optional_integer(flags, "--dry-allowed-length", "DRY: longest repeated sequence without a penalty", s.dry_allowed_length, "2");
  optional_integer(flags, "--dry-last-n", "DRY: number of recent tokens to search; -1: all", s.dry_last_n, "-1")
      .also("--dry-penalty-last-n");
  flags.list("--dry-sequence-breaker", "TEXT", "DRY: text that ends a sequence", dry_breakers, "line feed, : \" *");
  optional_integer(flags, "--mirostat", "2 turns on Mirostat 2.0, which keeps the text's perplexity near a target", s.mirostat, "0: off");
  optional_number(flags, "--mirostat-tau", "Mirostat: target entropy in bits", s.mirostat_tau, "5").also("--mirostat-ent");
  optional_number(flags, "--mirostat-eta", "Mirostat: learning rate", s.mirostat_eta, "0.1").also("--mirostat-lr");
  optional_number(flags, "--repetition-penalty", "Factor that lowers the logits of tokens in the prompt or completion; 1: off",
                  s.repetition_penalty)
      .also("--repeat-penalty");
  optional_number(flags, "--presence-penalty", "Subtracted from the logits of tokens in the completion", s.presence_penalty, "0");
  optional_number(flags, "--frequency-penalty", "Subtracted from the logits of tokens, once per occurrence in the completion",
                  s.frequency_penalty, "0");
  optional_integer(flags, "--repeat-last-n", "Number of recent tokens that these three penalties look at; -1: all", s.repeat_last_n, "-1");
  flags.add("--logit-bias", "ID:BIAS[,ID:BIAS]", "Added to the logits of token ids; -inf bans a token", "none",
            [this](const std::string& t) {
              for (size_t begin = 0; begin <= t.size();) {
                const size_t end = std::min(t.find(',', begin), t.size());
                request.sampling.logit_bias.push_back(parse_bias(t.substr(begin, end - begin)));
                begin = end + 1;
              }
            });
  flags.text("--sampling-order", "NAMES",
             "Order of the sampling stages: hf (transformers), llama.cpp (also sets its defaults), or stages separated by commas", s.order,
             "hf");
  flags.add("--seed", "N", "Seed of the sampling", "random", [&s](const std::string& t) { s.seed = parse_seed(t); })
      .also("-s")
      .in_basic_help();
  flags.list("--stop", "TEXT", "Stop sequence: end before this text", request.stop, "none").also("--reverse-prompt,-r").in_basic_help();
  flags
      .add("--stop-token-ids", "ID[,ID]", "End at these token ids too", "the checkpoint's EOS tokens only",
           [this](const std::string& t) { request.stop_ids = parse_ids(t); })
      .also("--stop-ids");
  flags.toggle("--ignore-eos", "Generate past EOS tokens; use it to benchmark a fixed number of tokens", request.ignore_end)
      .also("--ignore-end");
  flags.group("Memory and performance");
  optional_integer(flags, "-c,--ctx-size", "Context length: tokens of prompt and completion that fit", request.context,
                   "the length that the model was trained on")
      .also("--context,--context-length")
      .in_basic_help();
}

void SamplingFlags::add_logprobs(Flags& flags) {
  flags.integer("--logprobs", "With --json: log-probabilities of the generated tokens, and of the N likeliest at each position",
                request.logprobs, "not printed", {.low = 0});
}

CompletionRequest SamplingFlags::resolved() const {
  CompletionRequest r = request;
  if (!dry_breakers.empty()) r.sampling.dry_breakers = dry_breakers;
  return r;
}

Completion print_completion(LanguageModel& model, CompletionRequest request, bool json, ProgressLine& line) {
  bool begun = false;
  request.progress = [&line](const Progress& p) { line.update(p); };
  request.cancel = &canceled;
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
    for (const std::string& warning : made.warnings) log_warning(warning);
    fmt::print("{}\n", json ? to_json(made, request, model) : "");
    std::fflush(stdout);
    if (const std::string speed = speed_text(made); !speed.empty()) log_info(speed);
    log_detail(fmt::format("seed {}, finished by {}, prompt of {} tokens ({} cached), load {}", made.seed, made.finish_reason,
                           made.prompt_tokens.size(), made.cached_tokens, format_time(model.load_seconds())));
    return made;
  } catch (const Error&) {
    if (begun) fmt::print("\n");
    throw;
  }
}

std::string memory_text(const LanguageModel::Plan& plan) {
  const std::string unpacked = plan.unpacked_bytes > 0 ? fmt::format("{} of unpacked weights, ", format_bytes(plan.unpacked_bytes)) : "";
  const std::string gpu = plan.gpu ? fmt::format("; {} of {} layers on the GPU, with {} at most", plan.gpu->layers, plan.gpu->of_layers,
                                                 format_bytes(plan.gpu->bytes))
                                   : "";
  return fmt::format("memory: {} of memory-mapped weights, {}{} of KV cache for a context of {} tokens{}", format_bytes(plan.weight_bytes),
                     unpacked, format_bytes(plan.cache_bytes), plan.context, gpu);
}

std::string speed_text(const Completion& made) {
  const auto tokens = int64_t(made.tokens.size()) - 1;  // prefill gives the first token
  if (tokens < 1) return "";
  const int64_t prompt = int64_t(made.prompt_tokens.size()) - made.cached_tokens;
  return fmt::format("prefill of {} tokens in {} ({}), generated {} tokens in {} ({})", prompt, format_time(made.prompt_seconds),
                     format_rate("prompt", prompt, made.prompt_seconds), tokens + 1,
                     format_time(made.first_token_seconds + made.decode_seconds), format_rate("generate", tokens, made.decode_seconds));
}

std::string prompt_json(const RenderedChat& rendered) {
  return Json{{"prompt", rendered.text}, {"ids", rendered.ids}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hearth::cli
