// Language models: text, token ids and log-probabilities from open-weight checkpoints.
//
//   hearth::LanguageModel model = hearth::LanguageModel::open("checkpoint");
//   hearth::Completion made = model.complete({.prompt = "The lighthouse", .on_text = [](std::string_view t) { story += t; }});
//
// Everything throws hearth::Error on failure, as in hearth/hearth.h.
#pragma once

#include <string_view>
#include <utility>

#include "hearth/hearth.h"

namespace hearth {

// The type that keys and values of the text so far are kept in. f32 gives the same tokens as no cache at all.
enum class CacheType { f32, f16, bf16, q8_0 };

class LanguageModel;

struct LanguageOptions {
  std::string variant;         // "fp16" opens *.fp16.safetensors; "" the files without a variant
  std::string device = "cpu";  // see list_backends()
  int threads = 0;             // 0 = all processors
  bool pin_threads = false;
  // Of weights stored as single numbers; automatic: as stored. Types of blocks (GGUF) stay what they are; automatic multiplies them as the
  // integers that they hold, with 16 bits of the other side; f32 as the f32 numbers that they stand for.
  Precision precision = Precision::automatic;
  CacheType cache_type = CacheType::f32;
  OnProgress progress;                        // phase "load"
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: ends with Canceled
  // Called when all is known but no weight has been read: plan() and render() can be asked, and what is thrown here ends open().
  std::function<void(const LanguageModel&)> before_loading;
};

// How the next token is chosen. What is absent is what the checkpoint's generation_config.json says, else off. Order of the stages,
// unless `order` says otherwise: biases, penalties, dry, temperature, top_n_sigma, top_k, top_p, min_p, typical_p, epsilon_cutoff,
// eta_cutoff, xtc, then Mirostat 2 or the draw.
struct Sampling {
  std::optional<double> temperature;  // 0: the most probable token
  std::optional<int64_t> top_k;
  std::optional<double> top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff, top_n_sigma;
  std::optional<double> xtc_probability, xtc_threshold;
  std::optional<double> dry_multiplier, dry_base;
  std::optional<int64_t> dry_allowed_length, dry_last_n;
  std::optional<std::vector<std::string>> dry_breakers;  // default: line feed, colon, quotation mark, asterisk
  std::optional<int64_t> mirostat;                       // 2, or 0: off
  std::optional<double> mirostat_tau, mirostat_eta;
  std::optional<double> repetition_penalty;                   // counts prompt and answer
  std::optional<double> presence_penalty, frequency_penalty;  // count the answer
  std::optional<int64_t> repeat_last_n;                       // tokens that the three look at; −1: all
  std::vector<std::pair<int32_t, float>> logit_bias;          // −∞ forbids a token
  std::optional<uint64_t> seed;                               // default: a random one, reported
  std::string order;                                          // "hf", "llama.cpp" (with its defaults), or stages separated by commas
};

struct CompletionRequest {
  std::string prompt;                              // taken byte for byte; each maximal invalid part of UTF-8 is one U+FFFD
  std::optional<std::vector<int32_t>> prompt_ids;  // in place of the prompt, used as they are
  bool add_special_tokens = true;                  // of the prompt: BOS exactly where the tokenizer's configuration says so
  std::optional<int64_t> max_tokens;               // default: max_new_tokens of generation_config.json, else 256; 0: none
  std::optional<int64_t> context;                  // room for prompt and answer; default: as much as the model was trained for
  Sampling sampling;
  std::vector<std::string> stop;    // texts that end the answer and are not part of it
  std::vector<int32_t> stop_ids;    // beside the checkpoint's end tokens
  bool ignore_end = false;          // go on past the end tokens
  std::optional<int64_t> logprobs;  // for each token of the answer its log-probability and those of the so many most probable ones
  bool prompt_logprobs = false;
  std::function<void(std::string_view text)> on_text;  // the answer as it comes, in whole characters
  Debug debug;
  OnProgress progress;  // phase "prompt", in tokens
  const std::atomic<bool>* cancel = nullptr;
};

// UsageError for what no model can do: a parameter out of range, a length below 0. Needs no model; complete() looks at it too.
void check(const CompletionRequest& request);

// Of a token: the f32 log-softmax of the raw logits over all rows of the output matrix, before penalties and temperature.
struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0;
  std::vector<std::pair<int32_t, float>> top;  // most probable first
};

struct Completion {
  std::vector<int32_t> prompt_tokens, tokens;         // `tokens` has the end token where one came
  std::string text;                                   // of `tokens`, without special ones and what a stop string cut off
  std::string finish_reason;                          // "stop" or "length"
  std::vector<TokenLogprob> logprobs;                 // when asked for
  std::vector<std::optional<float>> prompt_logprobs;  // when asked for; nothing is known of the first token
  uint64_t seed = 0;
  std::vector<std::string> warnings;                                       // one line each
  std::string debug, debug_text;                                           // what CompletionRequest::debug asked for: JSON, and for people
  int64_t cached_tokens = 0;                                               // of the prompt: known from the run before
  double prompt_seconds = 0, first_token_seconds = 0, decode_seconds = 0;  // first token: from the beginning of the request
};

// A conversation for the checkpoint's chat template; the JSON is text, in which the order of keys counts.
struct ChatMessages {
  std::string messages;                  // [{"role": …, "content": …}, …]
  std::optional<std::string> tools;      // a list of objects
  std::optional<std::string> documents;  // the same
  bool add_generation_prompt = true;     // end with what begins an answer
  bool continue_final_message = false;
  std::string variables = "{}";  // further variables for the template: {"enable_thinking": false}
  std::string template_name;     // of several; "": tool_use with tools, else default
};

// A conversation as the model of a checkpoint reads it, by the chat template and the tokenizer alone: no weights are looked at and need not
// be there. `model`: as LanguageModel::open, or empty: the demo model. What the template refuses is an Error with its words.
struct RenderedChat {
  std::string text;
  std::vector<int32_t> ids;  // nothing is put before or behind the text's
};
RenderedChat render_chat(const std::filesystem::path& model, const ChatMessages& chat);

// How well a model foretells a text: windows of `context` tokens, each beginning `stride` after the one before; every token is scored once,
// in the first window that holds it behind another token.
struct PerplexityRequest {
  std::string text;
  std::optional<int64_t> context;  // default: what the model was trained for, at most 2048
  std::optional<int64_t> stride;   // default: the context; smaller ones show each token more of what came before
  OnProgress progress;             // phase "score", in tokens
  const std::atomic<bool>* cancel = nullptr;
};
struct Perplexity {
  double value = 0;           // exp of the mean negative log-probability
  double standard_error = 0;  // of `value`
  double mean = 0;            // negative log-probability, in nats
  int64_t tokens = 0, scored = 0, context = 0, stride = 0;
  double seconds = 0;
};

class LanguageModel {
 public:
  // A folder with config.json, safetensors and a tokenizer, or a GGUF file. IoError, WeightError or UnsupportedError when it cannot be run.
  static LanguageModel open(const std::filesystem::path& path, const LanguageOptions& options = {});

  // The small model that comes with hearth: a toy (assets/demo-language-model/README.md).
  static LanguageModel open_demo(const LanguageOptions& options = {});

  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;
  ~LanguageModel();

  std::string family() const;    // as `hearth list models` names it
  int64_t positions() const;     // that it was trained for
  int64_t vocabulary() const;    // rows of its logits
  int64_t weight_bytes() const;  // of the files' tensors
  double load_seconds() const;
  // What the keys and values of so many tokens take.
  int64_t cache_bytes(int64_t context) const;

  // What complete() will take, without running anything: UsageError for a prompt that does not fit, or for more memory than there is.
  struct Plan {
    int64_t prompt_tokens = 0, context = 0;  // tokens; room for prompt and answer
    int64_t weight_bytes = 0;                // mapped: they take memory as they are read, and give it back when others need it
    int64_t cache_bytes = 0;                 // keys and values of `context` tokens
  };
  Plan plan(const CompletionRequest& request) const;
  // The prompt's tokens that the run before has seen already are not computed again, which changes nothing but the time.
  Completion complete(const CompletionRequest& request);
  // UsageError for a text of fewer than two tokens, or a context or stride that cannot be.
  Perplexity perplexity(const PerplexityRequest& request);
  // The conversation as the model reads it. What the template refuses is an Error with its words.
  std::string render(const ChatMessages& chat) const;
  // Token ids of a rendered conversation: nothing is put before or behind it.
  std::vector<int32_t> chat_ids(const std::string& rendered) const;

 private:
  struct Impl;
  explicit LanguageModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth
