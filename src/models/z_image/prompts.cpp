#include "models/z_image/prompts.h"

#include "core/error.h"
#include "models/clip/towers.h"
#include "models/diffusion/finite.h"
#include "models/request.h"
#include "models/z_image/options.h"

namespace hearth::models::z_image {

Prompts::Prompts(const ZImageConfig& config, diffusion::Slot<parts::DecoderTextEncoder> encoder, const ImageTask& task, bool use_negative,
                 ResolvedImage& resolved)
    : encoder_(encoder) {
  const Request& r = task.request;
  if (!r.embeddings.empty()) fail<UnsupportedError>("generate: {} does not support embeddings", family_name);
  const int64_t length = option_of<int64_t>(r.options, max_sequence_length.name).value_or(default_length);
  resolved.options[std::string(max_sequence_length.name)] = length;
  const auto read = [&](std::string_view prompt, text::PromptRole role) {
    language_encoder::Row row =
        config.tokenizer.row_of(language_encoder::text_in(prompt, syntax_of(r), emphasis_of(r)), role, chat_form, {.most = length});
    if (!row.warning.empty()) clip::add_warning(row.warning, resolved);
    const int64_t tokens = std::ssize(row.text.ids), places = config.transformer.places[0];
    if (TransformerConfig::padded(tokens) + 1 >= places)
      fail<UsageError>("prompt: {} tokens, expected at most {} for the transformer", tokens,
                       (places - 2) / TransformerConfig::multiple * TransformerConfig::multiple);
    texts_.push_back(std::move(row.text));
  };
  read(r.prompt, text::PromptRole::positive);
  const std::string negative = r.negative_prompt.value_or("");
  if (use_negative) read(negative, text::PromptRole::negative);
  else if (!negative.empty()) clip::add_warning("the negative prompt is ignored: it requires guidance", resolved);
}

std::vector<diffusion::EncodedPrompt> Prompts::encode(const diffusion::Loaded& networks, Backend& host) const {
  std::vector<diffusion::EncodedPrompt> prompts;
  for (const std::vector<Tensor>& states : networks[encoder_](texts_)) {
    const Tensor text = states[0].to(host);
    diffusion::require_finite(text, "text_encoder", "its states");
    diffusion::Conditioning given;
    given.tensors[std::string(text_states)] = text.view({1, text.size(0), text.size(1)});
    prompts.push_back({.conditions = {{.entries = {{.given = std::move(given)}}}}});
  }
  return prompts;
}

}  // namespace hearth::models::z_image
