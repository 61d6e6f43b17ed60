#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "api/debug/debug.h"
#include "api/debug/debug_text.h"
#include "api/language/language_state.h"
#include "api/run_scope.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/observe.h"
#include "sampling/tokens/log_probabilities.h"
#include "sampling/tokens/stop_strings.h"
#include "sampling/tokens/token_sampler.h"

namespace hearth::api {
namespace {

sampling::SamplingRequest plain_request(const Sampling& s) {
  return {.temperature = s.temperature,
          .top_p = s.top_p,
          .min_p = s.min_p,
          .typical_p = s.typical_p,
          .epsilon_cutoff = s.epsilon_cutoff,
          .eta_cutoff = s.eta_cutoff,
          .top_n_sigma = s.top_n_sigma,
          .xtc_probability = s.xtc_probability,
          .xtc_threshold = s.xtc_threshold,
          .mirostat_tau = s.mirostat_tau,
          .mirostat_eta = s.mirostat_eta,
          .repetition_penalty = s.repetition_penalty,
          .presence_penalty = s.presence_penalty,
          .frequency_penalty = s.frequency_penalty,
          .dry_multiplier = s.dry_multiplier,
          .dry_base = s.dry_base,
          .top_k = s.top_k,
          .mirostat = s.mirostat,
          .repeat_last_n = s.repeat_last_n,
          .dry_allowed_length = s.dry_allowed_length,
          .dry_last_n = s.dry_last_n,
          .seed = s.seed.value_or(std::random_device{}()),
          .logit_bias = s.logit_bias,
          .order = s.order};
}

// max_length includes the prompt; max_new_tokens takes precedence. transformers cannot distinguish a max_length of 20 from its default,
// which limits the completion alone.
int64_t default_length(const sampling::GenerationDefaults& file, int64_t prompt) {
  if (file.max_new_tokens) return *file.max_new_tokens;
  if (!file.max_length) return 256;
  if (*file.max_length == 20) return 20;
  if (*file.max_length <= prompt)
    fail<UsageError>(
        "the prompt has {} tokens, expected fewer than the max_length of {} in generation_config.json; --max-tokens overrides it", prompt,
        *file.max_length);
  return *file.max_length - prompt;
}

// The completion's text: without special tokens, up to a stop sequence, passed on in whole characters.
class CompletionText {
 public:
  CompletionText(const LanguageState& state, const CompletionRequest& request, Completion& made)
      : stop_(request.stop.empty() ? state.defaults.stop_strings : request.stop), on_text_(request.on_text), made_(made) {
    if (state.has_tokenizer()) decoder_.emplace(state.tokenizer(), text::DecodeOptions{.skip_special_tokens = true});
    else if (!request.stop.empty()) fail<UsageError>("stop sequences require a tokenizer, but {} has none", state.root.string());
  }

  void push(int32_t token) {
    if (decoder_) pass(stop_.feed(decoder_->push(token)));
  }
  bool stopped() const { return stop_.stop().has_value(); }
  void finish() {
    if (!decoder_) return;
    if (!stopped()) pass(stop_.feed(decoder_->finish()));
    pass(stop_.flush());
  }

 private:
  void pass(const std::string& text) {
    made_.text += text;
    if (on_text_ && !text.empty()) on_text_(text);
  }

  sampling::StopStrings stop_;
  const std::function<void(std::string_view)>& on_text_;
  Completion& made_;
  std::optional<text::StreamDecoder> decoder_;
};

// The ids of the prompt. UsageError for an id in the request that is outside the vocabulary.
std::vector<int32_t> prompt_tokens(const LanguageState& state, const CompletionRequest& request) {
  const int64_t rows = state.model->sizes().vocabulary;
  const auto need = [rows](const char* what, int32_t id) {
    if (id < 0 || id >= rows) fail<UsageError>("{}: token id {} is outside the model's vocabulary of {}", what, id, rows);
  };
  for (const int32_t id : request.stop_ids) need("stop_ids", id);
  for (const auto& [id, bias] : request.sampling.logit_bias) need("logit_bias", id);
  std::vector<int32_t> ids = request.prompt_ids
                                 ? *request.prompt_ids
                                 : state.tokenizer().encode(request.prompt, {.add_special_tokens = request.add_special_tokens});
  if (ids.empty()) fail<UsageError>("the prompt has no tokens, expected at least one");
  for (const int32_t id : ids) need("prompt", id);
  return ids;
}

struct Room {
  int64_t context = 0;     // context length in tokens
  int64_t max_tokens = 0;  // limit on the completion's tokens
};

Room room_for(const LanguageState& state, const CompletionRequest& request, int64_t prompt) {
  const int64_t requested = request.max_tokens ? *request.max_tokens : default_length(state.defaults, prompt);
  const int64_t most = request.context.value_or(state.model->sizes().positions);
  if (prompt > most) fail<UsageError>("the prompt has {} tokens, expected at most the context length of {}", prompt, most);
  const int64_t max_tokens = std::min(requested, most - prompt);
  const Room room{.context = request.context ? most : prompt + max_tokens, .max_tokens = max_tokens};
  require_card_room(state, room.context);
  const bool there = state.text && state.text->context() >= room.context;
  const int64_t bytes = state.model->cache_bytes(room.context, state.cache_type), available = system_available_bytes();
  if (!there && available > 0 && bytes > available)
    fail<UsageError>(
        "the KV cache of {} tokens needs {:.2f} GB of memory, but {:.2f} GB are available; lower --ctx-size or pass another "
        "--kv-cache-type",
        room.context, double(bytes) * 1e-9, double(available) * 1e-9);
  return room;
}

// Shortens state.text to a prefix of `ids`, leaving at least one token to feed, or starts a new text. Returns the prefix length, which is
// shorter than what they have in common if the text's state is not stored for that length.
int64_t reuse(LanguageState& state, const std::vector<int32_t>& ids, int64_t context, bool from_the_beginning) {
  if (state.saved && !from_the_beginning) {
    const auto stored = int64_t(state.saved->tokens.size());
    state.text = state.model->start(std::max(context, stored), state.cache_type);
    if (state.text->load(stored, state.saved->context, state.saved->parts)) state.fed = state.saved->tokens;
  }
  state.saved.reset();
  const auto [mine, theirs] = std::mismatch(state.fed.begin(), state.fed.end(), ids.begin(), ids.end());
  int64_t common = from_the_beginning ? 0 : std::min<int64_t>(mine - state.fed.begin(), int64_t(ids.size()) - 1);
  if (state.text && state.text->context() >= context && common > 0) common = state.text->shorten(common);
  else common = 0;
  if (common == 0) {
    state.text.reset();  // freed before the new one is allocated: both may not fit in memory
    state.text = state.model->start(context, state.cache_type);
    state.fed.clear();
    return 0;
  }
  state.fed.resize(size_t(common));
  return common;
}

TokenLogprob logprob_of(const sampling::LogProbabilities& row, int32_t token, int64_t top) {
  TokenLogprob made{.token = token, .logprob = row.of(token)};
  for (const sampling::TokenLogProbability& t : row.top(top)) made.top.emplace_back(t.token, t.log_probability);
  return made;
}

}  // namespace

void require_card_room(const LanguageState& state, int64_t context) {
  if (state.card_context && context > *state.card_context)
    fail<UsageError>("the context has {} tokens, but --gpu-memory made room for {}; pass --ctx-size {}", context, *state.card_context,
                     context);
}

sampling::SamplingRequest sampling_request(const LanguageState& state, const Sampling& s) {
  sampling::SamplingRequest r = plain_request(s);
  if (s.dry_multiplier.value_or(0) != 0 && state.has_tokenizer()) {
    const text::Tokenizer& tokenizer = state.tokenizer();
    std::vector<std::string> pieces;
    for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) pieces.push_back(tokenizer.decode(std::span(&id, 1)));
    const auto defaults = sampling::default_dry_breakers();
    const std::vector<std::string> texts = s.dry_breakers.value_or(std::vector<std::string>(defaults.begin(), defaults.end()));
    r.dry_breakers = sampling::dry_breakers(texts, pieces, [&](const std::string& t) {
      return tokenizer.encode(t, {.add_special_tokens = false, .parse_special_tokens = false});
    });
  }
  return r;
}

LanguageModel::Plan plan(const LanguageState& state, const CompletionRequest& request) {
  check(request);
  const auto prompt = int64_t(prompt_tokens(state, request).size());
  const Room room = room_for(state, request, prompt);
  LanguageModel::Plan plan{.prompt_tokens = prompt,
                           .context = room.context,
                           .weight_bytes = state.weight_bytes - state.quantized.unpacked_bytes,
                           .unpacked_bytes = state.quantized.unpacked_bytes,
                           .cache_bytes = state.model->cache_bytes(room.context, state.cache_type)};
  if (state.card)
    plan.gpu = {.layers = state.card->blocks, .of_layers = state.card->of_blocks, .bytes = state.card_bytes(prompt, room.context)};
  return plan;
}

Completion complete(LanguageState& state, const CompletionRequest& request) {
  DebugObserver observer(request.debug, *state.device);
  const auto begin = Clock::now();
  check(request);
  Completion made{.prompt_tokens = prompt_tokens(state, request), .warnings = state.defaults.warnings};
  const auto prompt = int64_t(made.prompt_tokens.size());
  const Room room = room_for(state, request, prompt);

  const sampling::SamplingParameters parameters = sampling::resolve(state.defaults, sampling_request(state, request.sampling));
  made.seed = parameters.seed;
  sampling::TokenSampler sampler(parameters);
  sampler.start(made.prompt_tokens);
  CompletionText output(state, request, made);

  made.cached_tokens = reuse(state, made.prompt_tokens, room.context, request.prompt_logprobs);
  std::vector<float> last;  // the logits after the last token
  const auto feed = [&](std::span<const int32_t> ids, int64_t from, const models::LanguageModel::OnLogits& each,
                        const OnProgress& progress) {
    try {
      state.model->feed(*state.text, ids, from, each, progress);
    } catch (...) {
      state.text.reset();  // its length is now unknown
      state.fed.clear();
      throw;
    }
    state.fed.insert(state.fed.end(), ids.begin(), ids.end());
  };

  std::optional<ObserverScope> observing;
  if (observer.watches()) observing.emplace(observer);
  observer.set_phase("prompt");
  const auto rest = std::span<const int32_t>(made.prompt_tokens).subspan(size_t(made.cached_tokens));
  if (request.prompt_logprobs) made.prompt_logprobs.emplace_back();
  feed(
      rest, request.prompt_logprobs ? 0 : int64_t(rest.size()) - 1,
      [&](int64_t token, std::span<const float> logits) {
        if (request.prompt_logprobs && token + 1 < prompt)
          made.prompt_logprobs.emplace_back(sampling::LogProbabilities(logits).of(made.prompt_tokens[size_t(token + 1)]));
        if (token + 1 == int64_t(rest.size())) last.assign(logits.begin(), logits.end());
      },
      request.progress);
  made.prompt_seconds = seconds_since(begin);

  const auto ends = [&](int32_t token) {
    const auto among = [token](const std::vector<int32_t>& ids) { return std::find(ids.begin(), ids.end(), token) != ids.end(); };
    return among(request.stop_ids) || (!request.ignore_end && among(state.defaults.eos_token_ids));
  };
  made.finish_reason = "length";
  observer.set_phase("decode");
  const auto decode = Clock::now();
  while (int64_t(made.tokens.size()) < room.max_tokens) {
    check_canceled();
    const int32_t token = sampler.next(last);
    sampler.push(token);
    made.tokens.push_back(token);
    if (made.tokens.size() == 1) made.first_token_seconds = seconds_since(begin);
    if (request.logprobs) made.logprobs.push_back(logprob_of(sampling::LogProbabilities(last), token, *request.logprobs));
    output.push(token);
    if (ends(token) || output.stopped()) {
      made.finish_reason = "stop";
      break;
    }
    if (int64_t(made.tokens.size()) == room.max_tokens) break;
    feed(std::span(&token, 1), 0, [&](int64_t, std::span<const float> logits) { last.assign(logits.begin(), logits.end()); }, {});
  }
  output.finish();
  if (output.stopped()) made.finish_reason = "stop";
  made.decode_seconds = seconds_since(decode);
  observing.reset();
  observer.finish();
  if (observer.watches()) {
    const nlohmann::json report = observer.report();
    made.debug = report.dump(), made.debug_text = debug_text(report);
  }
  return made;
}

}  // namespace hearth::api

void hearth::check(const CompletionRequest& request) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (request.max_tokens.value_or(0) < 0) fail<UsageError>("max tokens {}: expected 0 or more", *request.max_tokens);
  if (request.context && (*request.context < 1 || *request.context > most))
    fail<UsageError>("context {}: expected 1 to {}", *request.context, most);
  if (request.logprobs.value_or(0) < 0) fail<UsageError>("logprobs {}: expected 0 or more", *request.logprobs);
  sampling::resolve({}, api::plain_request(request.sampling));
}
