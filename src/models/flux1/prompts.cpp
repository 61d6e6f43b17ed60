#include "models/flux1/prompts.h"

#include <algorithm>

#include "core/error.h"
#include "models/clip/towers.h"
#include "models/diffusion/finite.h"
#include "models/flux1/options.h"
#include "models/request.h"
#include "models/slots.h"
#include "text/prompt/prompt.h"

namespace hearth::models::flux1 {
namespace {

using text::PromptRole;

// The only text of a prompt. UnsupportedError if it changes during the run, or is composed of several.
const text::PromptEntry& only_text(const text::Prompt& prompt) {
  if (prompt.conditions.size() != 1 || prompt.conditions[0].weight != 1)
    fail<UnsupportedError>("prompt: AND and a weight of the whole prompt are not supported by {}", family_name);
  if (prompt.conditions[0].entries.size() != 1)
    fail<UnsupportedError>("prompt: texts that change during the run are not supported by {}", family_name);
  return prompt.conditions[0].entries[0];
}

}  // namespace

int64_t default_length(const FluxConfig& config, const Request& request, PromptKind kind) {
  if (kind == PromptKind::with_images) return 512;
  if (syntax_of(request) != text::PromptSyntax::plain) return 256;
  return config.transformer.guidance || request.compat == sampling::Compat::diffusers ? 512 : 256;
}

Prompts::Prompts(const FluxConfig& config, const Encoders& encoders, const ImageTask& task, PromptKind kind, bool use_negative,
                 ResolvedImage& resolved)
    : config_(config), encoders_(encoders), kind_(kind) {
  const Request& r = task.request;
  const auto has_text = [&r](PromptRole role) { return !clip::text_of(r, role, 0).empty() || !clip::text_of(r, role, 1).empty(); };
  zeros_ = kind == PromptKind::with_images && !has_text(PromptRole::positive);
  if (!r.embeddings.empty()) fail<UnsupportedError>("generate: {} does not support embeddings", family_name);
  length_ = option_of<int64_t>(r.options, max_sequence_length.name).value_or(default_length(config, r, kind));
  resolved.options[std::string(max_sequence_length.name)] = length_;
  const text::PromptReading reading{.syntax = syntax_of(r), .emphasis = emphasis_of(r), .steps = r.steps, .before = task.steps_before};
  const text::ClipTokenizer tokenizer = text::tokenizer_for(reading.syntax, config.clip_tokenizer);
  const auto read = [&](PromptRole role) {
    const text::Prompt prompt = text::read_prompt(clip::text_of(r, role, 0), role, reading, tokenizer, {});
    std::vector<int32_t>& ids = clip_ids_.emplace_back();
    for (const text::Slot& slot : only_text(prompt).chunks[0]) ids.push_back(slot.id);
    for (const std::string& warning : prompt.warnings) clip::add_warning(warning, resolved);
    // Weights do not reach the pooled text. The text of T5 is resolved alike, by whatever tokenizer.
    const text::Prompt of_t5 = text::read_prompt(clip::text_of(r, role, 1), role, reading, tokenizer, {});
    rows_.push_back(t5::read_row(only_text(of_t5).text, role, {.syntax = reading.syntax, .emphasis = reading.emphasis, .length = length_},
                                 config.t5_tokenizer));
    if (!rows_.back().warning.empty()) clip::add_warning(rows_.back().warning, resolved);
  };
  if (!zeros_) read(PromptRole::positive);
  if (use_negative) read(PromptRole::negative);
  else if (has_text(PromptRole::negative))
    clip::add_warning("the negative prompt is ignored: it requires a true CFG scale above 1", resolved);
}

std::vector<std::string> Prompts::unused() const {
  if (kind_ == PromptKind::text) return {std::string(slots::image_encoder.name), std::string(slots::image_embedder.name)};
  return rows_.empty() ? std::vector<std::string>{"text_encoder", "text_encoder_2"} : std::vector<std::string>();
}

std::vector<diffusion::EncodedPrompt> Prompts::encode(const diffusion::Loaded& networks, Backend& host) const {
  std::vector<diffusion::EncodedPrompt> prompts;
  const auto add = [&](const Tensor& states, const Tensor& pooled) {
    diffusion::Conditioning given;
    given.tensors[std::string(text_states)] = states;
    given.tensors[std::string(pooled_text)] = pooled;
    prompts.push_back({.conditions = {{.entries = {{.given = std::move(given)}}}}});
  };
  if (zeros_) add(Tensor::zeros(host, {1, length_, config_.t5.width}), Tensor::zeros(host, {1, config_.clip.width}));
  if (rows_.empty()) return prompts;
  const Tensor pooled = networks[encoders_.clip](clip_ids_).pooled.to(host);
  const std::vector<Tensor> states = t5::encode_rows(networks[encoders_.t5], rows_, config_.t5_tokenizer);
  for (const Tensor& z : states) diffusion::require_finite(z, "text_encoder_2", "its states");
  for (size_t i = 0; i < rows_.size(); ++i) add(states[i].to(host), pooled.slice(0, int64_t(i), int64_t(i) + 1));
  return prompts;
}

}  // namespace hearth::models::flux1
