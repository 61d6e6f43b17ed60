#include "models/flux2/prompts.h"

#include "core/error.h"
#include "models/clip/towers.h"
#include "models/diffusion/finite.h"
#include "models/flux2/options.h"
#include "models/request.h"
#include "ops/shape_ops.h"

namespace hearth::models::flux2 {

std::string without_images(std::string_view prompt) {
  constexpr std::string_view mark = "[IMG]";
  std::string text(prompt);
  for (size_t at = 0; (at = text.find(mark, at)) != text.npos;) text.erase(at, mark.size());
  return text;
}

Prompts::Prompts(const Flux2Config& config, diffusion::Slot<parts::DecoderTextEncoder> encoder, const ImageTask& task, bool use_negative,
                 ResolvedImage& resolved)
    : encoder_(encoder) {
  const Request& r = task.request;
  if (!r.embeddings.empty()) fail<UnsupportedError>("generate: {} does not support embeddings", family_name);
  const int64_t length = option_of<int64_t>(r.options, max_sequence_length.name).value_or(default_length);
  resolved.options[std::string(max_sequence_length.name)] = length;
  const auto read = [&](std::string_view prompt, text::PromptRole role) {
    std::string text = language_encoder::text_in(prompt, syntax_of(r), emphasis_of(r));
    if (config.transformer.guidance) text = without_images(text);
    language_encoder::Row row = config.tokenizer.row_of(text, role, config.texts.form, {.most = length, .pads = true});
    if (!row.warning.empty()) clip::add_warning(row.warning, resolved);
    texts_.push_back(std::move(row.text));
  };
  read(r.prompt, text::PromptRole::positive);
  const std::string negative = r.negative_prompt.value_or("");
  if (use_negative) read(negative, text::PromptRole::negative);
  else if (!negative.empty()) clip::add_warning("the negative prompt is ignored: it requires classifier-free guidance", resolved);
}

std::vector<diffusion::EncodedPrompt> Prompts::encode(const diffusion::Loaded& networks, Backend& host) const {
  std::vector<diffusion::EncodedPrompt> prompts;
  for (const std::vector<Tensor>& states : networks[encoder_](texts_)) {
    const Tensor text = ops::concat(states, 1).to(host);
    diffusion::require_finite(text, "text_encoder", "its states");
    diffusion::Conditioning given;
    given.tensors[std::string(text_states)] = text.view({1, text.size(0), text.size(1)});
    prompts.push_back({.conditions = {{.entries = {{.given = std::move(given)}}}}});
  }
  return prompts;
}

}  // namespace hearth::models::flux2
