// Language models: text, token ids and log-probabilities from open-weight checkpoints.
//
//   hearth::LanguageModel model = hearth::LanguageModel::open("checkpoint");
//   hearth::Completion made = model.complete({.prompt = "The lighthouse", .on_text = [](std::string_view t) { story += t; }});
//
// Every function reports failure by throwing hearth::Error, as in hearth/hearth.h.
#pragma once

#include <string_view>
#include <utility>

#include "hearth/hearth.h"
#include "hearth/quantized_weights.h"

namespace hearth {

// Storage type of the KV cache. f32 gives the same tokens as recomputing everything without a cache.
enum class CacheType { f32, f16, bf16, q8_0 };

class LanguageModel;
struct LanguageModelAccess;

struct LanguageOptions {
  std::string variant;         // "fp16" opens *.fp16.safetensors; "" opens the files without a variant
  std::string device = "cpu";  // see list_backends()
  int threads = 0;             // 0: one per CPU
  bool pin_threads = false;
  // Divides the model between the GPU that `device` names and the CPU: the first layers run on the GPU, with their part of the KV cache,
  // the others on the CPU. The embeddings and the output matrix are on the GPU if all layers are. gpu_layers is the number of layers on the
  // GPU. gpu_memory is a limit in bytes for the GPU's memory: as many layers are there as fit with the cache of a text of gpu_context
  // tokens. Without either, the limit of a GPU with memory of its own is what is free there. UsageError if both are set, or if the device
  // is no GPU.
  std::optional<int64_t> gpu_layers, gpu_memory;
  std::optional<int64_t> gpu_context;  // default: what the model was trained for, at most 8192; with gpu_memory, longer texts are refused
  // Applies to weights that are not quantized; automatic: as stored. Block types (GGUF) keep their type; automatic multiplies their
  // integers with activations quantized to 16 bits, f32 multiplies the dequantized f32 values.
  Precision precision = Precision::automatic;
  CacheType cache_type = CacheType::f32;
  std::vector<Lora> loras;                    // adapters of PEFT, or of GGUF files; they act on all texts
  OnProgress progress;                        // phase "load"
  const std::atomic<bool>* cancel = nullptr;  // set from any thread: ends with Canceled
  // Called before any weight is read, when plan() and render() already work. An exception thrown here ends open().
  std::function<void(const LanguageModel&)> before_loading;
};

// How the next token is chosen. An absent value is taken from the checkpoint's generation_config.json, else the stage is off. Default order
// of the stages: biases, penalties, dry, temperature, top_n_sigma, top_k, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff, xtc, then
// Mirostat 2 or random choice.
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
  std::optional<double> repetition_penalty;                   // over the prompt and the completion
  std::optional<double> presence_penalty, frequency_penalty;  // over the completion
  std::optional<int64_t> repeat_last_n;                       // number of last tokens for these three; −1: all
  std::vector<std::pair<int32_t, float>> logit_bias;          // −∞ forbids a token
  std::optional<uint64_t> seed;                               // default: random, reported
  std::string order;                                          // "hf", "llama.cpp" (with its default values), or stages separated by commas
};

struct CompletionRequest {
  std::string prompt;                              // used byte for byte; each maximal invalid UTF-8 sequence becomes U+FFFD
  std::optional<std::vector<int32_t>> prompt_ids;  // replace the prompt; used unchanged
  bool add_special_tokens = true;                  // add BOS to the prompt if the tokenizer's configuration says so
  std::optional<int64_t> max_tokens;               // default: max_new_tokens of generation_config.json, else 256; 0: none
  std::optional<int64_t> context;  // context length in tokens, prompt and completion; default: what the model was trained for
  Sampling sampling;
  std::vector<std::string> stop;    // stop sequences; not part of the completion
  std::vector<int32_t> stop_ids;    // in addition to the checkpoint's end tokens
  bool ignore_end = false;          // continue past the end tokens
  std::optional<int64_t> logprobs;  // return log-probabilities of the completion's tokens and of this many most probable ones at each
  bool prompt_logprobs = false;
  std::function<void(std::string_view text)> on_text;  // receives the completion as it is generated, in whole characters
  Debug debug;
  OnProgress progress;  // phase "prompt", in tokens
  const std::atomic<bool>* cancel = nullptr;
};

// UsageError for a request that is invalid for every model: a parameter out of range, a length below 0. complete() checks this too.
void check(const CompletionRequest& request);

// Log-probability of a token: f32 log-softmax of the raw logits over the whole vocabulary, before penalties and temperature.
struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0;
  std::vector<std::pair<int32_t, float>> top;  // most probable first
};

struct Completion {
  std::vector<int32_t> prompt_tokens, tokens;         // `tokens` includes the end token, if generated
  std::string text;                                   // of `tokens`, without special tokens and without a stop sequence
  std::string finish_reason;                          // "stop" or "length"
  std::vector<TokenLogprob> logprobs;                 // if requested
  std::vector<std::optional<float>> prompt_logprobs;  // if requested; the first token has none
  uint64_t seed = 0;
  std::vector<std::string> warnings;                                       // one line each
  std::string debug, debug_text;                                           // results of CompletionRequest::debug: as JSON, and as text
  int64_t cached_tokens = 0;                                               // tokens of the prompt that were already in the KV cache
  double prompt_seconds = 0, first_token_seconds = 0, decode_seconds = 0;  // first token: since the start of the request
};

// A chat for the checkpoint's chat template. JSON is passed as text because templates depend on the order of keys.
struct ChatMessages {
  std::string messages;                  // [{"role": …, "content": …}, …]
  std::optional<std::string> tools;      // a JSON array of objects
  std::optional<std::string> documents;  // the same
  bool add_generation_prompt = true;     // end with the header of the assistant's reply
  bool continue_final_message = false;
  std::string variables = "{}";  // additional variables for the template: {"enable_thinking": false}
  std::string template_name;     // if there are several; "": tool_use with tools, else default
};

// A chat rendered by a checkpoint's chat template and tokenized. Needs no weights. `model`: as in LanguageModel::open; empty: the demo
// model. An exception raised by the template becomes an Error with its message.
struct RenderedChat {
  std::string text;
  std::vector<int32_t> ids;  // of `text`; no tokens are added
};
RenderedChat render_chat(const std::filesystem::path& model, const ChatMessages& chat);

// Perplexity of a text over windows of `context` tokens, which start `stride` tokens apart. Every token is scored once, in the first window
// where another token precedes it.
struct PerplexityRequest {
  std::string text;
  std::optional<int64_t> context;  // in tokens; default: what the model was trained for, at most 2048
  std::optional<int64_t> stride;   // in tokens; default: the context; smaller strides give each token more context
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

// An importance matrix: for every column of every matrix, the sum of squares of the activations that it multiplies, over a text; in
// llama.cpp's file formats. quantize() weights errors with it (QuantizeRequest::imatrix). The text is split into chunks of `context`
// tokens, which begin with a BOS token if the tokenizer's configuration says so; a shorter rest is left out.
struct ImatrixRequest {
  std::string text, dataset;                 // dataset: a name for the text, usually that of its file
  std::filesystem::path output;              // written atomically, also while the run goes on, every ten chunks
  std::string format = "gguf";               // or "dat", the older format
  std::vector<std::filesystem::path> merge;  // files of either format whose sums are added
  int64_t context = 512;                     // in tokens
  std::optional<int64_t> chunks;             // at most
  int64_t first_chunk = 0;                   // the chunks before it are left out
  bool output_matrix = false;                // also of the matrix that computes the logits
  OnProgress progress;                       // phase "calibrate", in chunks
  const std::atomic<bool>* cancel = nullptr;
};
struct ImatrixReport {
  int64_t entries = 0, chunks = 0;  // of the file, with those that were merged
  int64_t tokens = 0;               // of this run
  double seconds = 0;
  std::vector<std::string> notes;  // one line each
};
// Adds files without running a model. UsageError for no files, IoError, WeightError.
ImatrixReport merge_imatrices(const ImatrixRequest& request);

class LanguageModel {
 public:
  // Opens a folder with config.json, safetensors and a tokenizer, or a GGUF file. IoError, WeightError or UnsupportedError if it cannot
  // run.
  static LanguageModel open(const std::filesystem::path& path, const LanguageOptions& options = {});

  // The same model with adapters. It shares the weights that they leave alone, and may outlive this one. Errors as open(); UsageError if
  // this one has adapters.
  LanguageModel adapted(const std::vector<Lora>& loras) const;

  // Opens the toy model that is part of hearth (assets/demo-language-model/README.md).
  static LanguageModel open_demo(const LanguageOptions& options = {});

  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;
  ~LanguageModel();

  std::string family() const;    // as `hearth list models` names it
  int64_t positions() const;     // context length that it was trained for
  int64_t vocabulary() const;    // rows of its logits
  int64_t weight_bytes() const;  // size of the tensors as they are used
  const QuantizedWeights& quantized() const;
  double load_seconds() const;
  bool device_lost() const;                        // its GPU has failed for good: every run is an Error until the model is opened again
  std::vector<std::string> adapter_notes() const;  // one line for each of LanguageOptions::loras: how much of it the model has
  // Most memory that a text of `context` tokens takes beside the weights: its KV cache or recurrent state.
  int64_t cache_bytes(int64_t context) const;

  // Memory that complete() will need, without running it. UsageError if the prompt exceeds the context or if there is not enough memory.
  struct Plan {
    int64_t prompt_tokens = 0, context = 0;  // in tokens; `context` is for prompt and completion
    int64_t weight_bytes = 0;                // memory-mapped: resident as they are read, evicted if other programs need memory
    int64_t unpacked_bytes = 0;              // of weights that are unpacked into memory (QuantizedWeights), in addition
    int64_t cache_bytes = 0;                 // KV cache of `context` tokens
    // Of a model that is divided: layers on the GPU, and the peak memory that they take there, of the bytes above and more.
    struct Gpu {
      int64_t layers = 0, of_layers = 0, bytes = 0;
    };
    std::optional<Gpu> gpu;
  };
  Plan plan(const CompletionRequest& request) const;
  // Reuses the KV cache for the tokens that the prompt shares with the previous run, which changes only the time.
  Completion complete(const CompletionRequest& request);
  // Writes the tokens of the last run and what the model stores of them (its KV cache or recurrent states) to a file, and continues from
  // such a file: the next run computes only the tokens of its prompt that the file does not have. UsageError if there was no run yet;
  // WeightError for a file of another model, which names the key that differs, or of another KV cache type; IoError.
  void save_state(const std::filesystem::path& path) const;
  void load_state(const std::filesystem::path& path);
  // UsageError for a text of fewer than two tokens, or an invalid context or stride.
  Perplexity perplexity(const PerplexityRequest& request);
  // UsageError for a text of fewer tokens than a chunk; UnsupportedError for a family without names in GGUF files; WeightError for a file
  // of another model among those to merge; IoError.
  ImatrixReport write_imatrix(const ImatrixRequest& request);
  // The chat rendered by the chat template. An exception raised by the template becomes an Error with its message.
  std::string render(const ChatMessages& chat) const;
  // Token ids of a rendered chat; adds no tokens.
  std::vector<int32_t> chat_ids(const std::string& rendered) const;

 private:
  friend struct LanguageModelAccess;  // of the server
  struct Impl;
  explicit LanguageModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth
