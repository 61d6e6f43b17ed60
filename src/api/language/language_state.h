// Implementation of LanguageModel: its state, completion and perplexity.
#pragma once

#include "api/language/state_file.h"
#include "api/language/wording.h"
#include "core/backend.h"
#include "hearth/language.h"
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
// The request's values as the sampler takes them; an absent seed becomes a random one.
sampling::SamplingRequest sampling_request(const LanguageState& state, const Sampling& sampling);

LanguageModel::Plan plan(const LanguageState& state, const CompletionRequest& request);
Completion complete(LanguageState& state, const CompletionRequest& request);
Perplexity perplexity(LanguageState& state, const PerplexityRequest& request);
ImatrixReport write_imatrix(LanguageState& state, const ImatrixRequest& request);

}  // namespace hearth::api
