// Implementation of LanguageModel: its state, completion and perplexity.
#pragma once

#include "api/language/state_file.h"
#include "api/language/wording.h"
#include "core/backend.h"
#include "hearth/language.h"
#include "models/language_loading.h"
#include "models/language_model.h"
#include "sampling/tokens/generation_defaults.h"
#include "weights/gguf/gguf_language.h"
#include "weights/weights.h"

namespace hearth::api {

struct LanguageState : Wording {
  std::shared_ptr<Backend> device;
  std::string family;
  std::unique_ptr<models::LanguageModel> model;
  sampling::GenerationDefaults defaults;
  DType cache_type = DType::f32;
  int64_t weight_bytes = 0;
  QuantizedWeights quantized;
  double load_seconds = 0;
  std::vector<std::string> adapter_notes;  // LanguageModel::adapter_notes

  // For a model that is divided between a GPU and the CPU: its part on the GPU; the bytes that a run takes there, from the lengths of its
  // prompt and its context in tokens; the longest context that fits.
  std::optional<models::ComponentReport::Card> card;
  std::function<int64_t(int64_t prompt, int64_t context)> card_bytes;
  std::optional<int64_t> card_context;

  std::map<std::string, std::string> config;  // every key of the configuration that the model reads, as JSON text
  std::shared_ptr<TensorSource> tensors;      // of the checkpoint

  // Where the matrices of the network are in its GGUF files; an empty map if there are none.
  std::function<std::map<std::string, GgufPlace>()> gguf_places;

  // A text from a file, which the next run continues.
  std::optional<SavedText> saved;
  // The KV cache of the last run. The next run reuses it up to the first token that differs.
  std::unique_ptr<models::TextState> text;
  std::vector<int32_t> fed;  // the tokens that `text` has processed
};

// Of an open model, for the server.
LanguageState& state_of(LanguageModel& model);
DType dtype_of(CacheType type);
// UsageError if the model is divided and a context of this many tokens does not fit on the GPU.
void require_card_room(const LanguageState& state, int64_t context);
// LanguageModel::open (empty: open_demo) of a model whose memory on a GPU is that of `use`.
LanguageModel open_language_model(const std::filesystem::path& path, const LanguageOptions& options, const models::UseLanguageModel& use);
// The request's values as the sampler takes them; an absent seed becomes a random one.
sampling::SamplingRequest sampling_request(const LanguageState& state, const Sampling& sampling);

LanguageModel::Plan plan(const LanguageState& state, const CompletionRequest& request);
Completion complete(LanguageState& state, const CompletionRequest& request);
Perplexity perplexity(LanguageState& state, const PerplexityRequest& request);
ImatrixReport write_imatrix(LanguageState& state, const ImatrixRequest& request);

}  // namespace hearth::api
