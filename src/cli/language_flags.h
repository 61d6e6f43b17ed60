// The flags of every command that opens a language model, and of those that generate text with it.
#pragma once

#include "cli/flags.h"
#include "cli/progress_line.h"
#include "hearth/language.h"

namespace hearth::cli {

struct LanguageFlags {
  std::string model, variant, device = "cpu", precision = "auto", cache_type = "f32";
  int threads = 0;
  std::optional<int64_t> gpu_layers, gpu_memory;
  std::optional<int64_t> gpu_context;  // LanguageOptions::gpu_context
  bool pin = false;
  std::vector<Lora> loras;

  void add_model(Flags& flags);   // --model --variant
  void add_device(Flags& flags);  // --device --gpu-layers --gpu-memory --threads --pin-threads --precision --kv-cache-type
  LanguageOptions options() const;
  // before_loading as in LanguageOptions.
  LanguageModel open(const OnProgress& progress, const std::function<void(const LanguageModel&)>& before_loading = {}) const;
};

// --ctx-size, --max-tokens, --temperature … --ignore-eos: everything that determines the completion except the prompt.
struct SamplingFlags {
  CompletionRequest request;
  std::vector<std::string> dry_breakers;

  void add_to(Flags& flags);
  void add_logprobs(Flags& flags);
  CompletionRequest resolved() const;
};

// Generates until `canceled` is set and prints the text as it comes, or with `json` one line {"prompt_tokens": …, "tokens": …, "text": …,
// "finish_reason": …, …, "timings": {…}}. A completion that fails half-way ends its line.
Completion print_completion(LanguageModel& model, CompletionRequest request, bool json, ProgressLine& line);

// "memory: …": the memory that a run needs.
std::string memory_text(const LanguageModel::Plan& plan);
// "prefill of 30 tokens in 0.2 s (150 tokens/s), generated 128 tokens in 6.4 s (20.0 tokens/s)"; empty below two tokens.
std::string speed_text(const Completion& completion);

// {"prompt": …, "ids": […]}
std::string prompt_json(const RenderedChat& rendered);

}  // namespace hearth::cli
