#include "models/clip/towers.h"

#include <algorithm>

#include "core/error.h"
#include "models/clip/embeddings.h"
#include "models/clip/files.h"
#include "models/diffusion/finite.h"
#include "models/option.h"
#include "models/request.h"

namespace hearth::models::clip {
namespace {

using text::PromptRole;

bool is_composed(const text::Prompt& prompt) { return prompt.conditions.size() > 1 || prompt.conditions[0].weight != 1; }

// A prompt that one text encoder has for itself, by the option's name without its number.
std::optional<std::string> own_text(const Request& r, std::string_view option, size_t encoder) {
  return encoder == 0 ? std::nullopt : option_of<std::string>(r.options, fmt::format("{}_{}", option, encoder + 1));
}

// Clip skip of a text encoder. In diffusers and ComfyUI it applies to all of them, in A1111 not to OpenCLIP's.
int64_t clip_skip_of(const Tower& tower, int64_t own, const Request& r, size_t index, ResolvedImage& resolved) {
  const TowerNames& names = tower.names;
  const auto of_second = index > 0 ? option_of<int64_t>(r.options, "clip_skip_2") : std::nullopt;
  int64_t clip_skip = option_of<int64_t>(r.options, "clip_skip").value_or(own);
  if (of_second) {
    clip_skip = *of_second;
  } else if (r.compat == sampling::Compat::a1111 && names.open_clip && clip_skip != own) {
    add_warning(fmt::format("clip skip {} does not apply to {}, which stays at {}, as in A1111", clip_skip, names.encoder, own), resolved);
    clip_skip = own;
  }
  if (clip_skip < 1 || clip_skip > tower.config.layers)
    fail<UsageError>("generate: clip skip{} is {}, expected 1 to {}", index > 0 ? " of the second text encoder" : "", clip_skip,
                     tower.config.layers);
  return clip_skip;
}

}  // namespace

Tower tower_of(const Checkpoint& checkpoint, const TowerNames& names) {
  const bool fast = checkpoint.component(names.tokenizer).class_name == "CLIPTokenizerFast";
  return {
      .names = names,
      .tokenizer = text::ClipTokenizer::parse(clip_files(checkpoint, names.tokenizer), fast ? text::Cleaning::fast : text::Cleaning::ftfy),
      .config = parts::ClipTextConfig::from(checkpoint.config(names.encoder), checkpoint.component(names.encoder).class_name)};
}

void check_tower(const Tower& t, const std::string& where) {
  if (t.tokenizer.max_id() >= t.config.vocabulary)
    fail<WeightError>("{}: the tokenizer's largest id is {}, expected less than the text encoder's {} embedding rows", where,
                      t.tokenizer.max_id(), t.config.vocabulary);
  if (t.tokenizer.model_max_length() > t.config.positions)
    fail<WeightError>("{}: the tokenizer outputs {} ids per prompt (model_max_length), the text encoder accepts {}", where,
                      t.tokenizer.model_max_length(), t.config.positions);
}

void add_warning(const std::string& warning, ResolvedImage& resolved) {
  if (std::ranges::find(resolved.warnings, warning) == resolved.warnings.end()) resolved.warnings.push_back(warning);
}

std::string text_of(const Request& r, PromptRole role, size_t encoder) {
  const bool positive = role == PromptRole::positive;
  return own_text(r, positive ? "prompt" : "negative_prompt", encoder).value_or(positive ? r.prompt : r.negative_prompt.value_or(""));
}

bool gives_negative(const Request& r) {
  return r.negative_prompt || own_text(r, "negative_prompt", 1) || own_text(r, "negative_prompt", 2);
}

void require_same_parts(const text::Prompt& a, const text::Prompt& b) {
  if (a.conditions.size() != b.conditions.size())
    fail<UsageError>(
        "generate: the prompts of the text encoders differ in their parts with AND, expected equally many, with the same weights");
  for (size_t c = 0; c < a.conditions.size(); ++c)
    if (a.conditions[c].weight != b.conditions[c].weight)
      fail<UsageError>("generate: the prompts of the text encoders differ in their weights with AND: {} and {}, expected equal weights",
                       a.conditions[c].weight, b.conditions[c].weight);
}

TowerPrompts::TowerPrompts(const std::vector<Tower>& towers, std::vector<diffusion::Slot<parts::ClipTextModel>> slots, const Rules& rules,
                           const ImageTask& task, bool use_negative, Backend& host, ResolvedImage& resolved)
    : towers_(towers), slots_(std::move(slots)), rules_(rules), syntax_(syntax_of(task.request)), emphasis_(emphasis_of(task.request)) {
  const Request& request = task.request;
  std::vector<int64_t> clip_skip;
  for (size_t i = 0; i < towers_.size(); ++i) clip_skip.push_back(clip_skip_of(towers_[i], rules_.clip_skip, request, i, resolved));
  for (size_t i = 0; i < towers_.size(); ++i) {
    std::vector<text::EmbeddingName> names;
    Texts& texts = texts_.emplace_back(read(i, task, use_negative, host, names, resolved));
    texts.clip_skip = clip_skip[i];
    // diffusers encodes the negative prompt without clip skip.
    texts.clip_skip_negative = request.compat == sampling::Compat::diffusers ? rules_.clip_skip : texts.clip_skip;
    if (i == 0) resolved.embeddings = std::move(names);
  }
  resolved.options["clip_skip"] = clip_skip[0];
  if (clip_skip.size() > 1) resolved.options["clip_skip_2"] = clip_skip[1];
  equalize();
}

TowerPrompts::Texts TowerPrompts::read(size_t index, const ImageTask& task, bool use_negative, Backend& host,
                                       std::vector<text::EmbeddingName>& names, ResolvedImage& resolved) const {
  const Tower& tower = towers_[index];
  const Request& request = task.request;
  Texts t;
  t.vectors = read_embeddings(request.embeddings, syntax_, std::string(tower.names.embedding), tower.config.width, host, names);
  const text::ClipTokenizer tokenizer = text::tokenizer_for(syntax_, tower.tokenizer);
  t.empty_chunk = text::empty_chunk(tokenizer);
  const text::PromptReading reading = {.syntax = syntax_, .emphasis = emphasis_, .steps = request.steps, .before = task.steps_before};
  const auto read_one = [&](PromptRole role) {
    t.prompts.push_back(text::read_prompt(text_of(request, role, index), role, reading, tokenizer, names));
    for (const std::string& warning : t.prompts.back().warnings) add_warning(warning, resolved);
    resolved.chunks = std::max(resolved.chunks, t.prompts.back().chunks);
  };
  read_one(PromptRole::positive);
  if (is_composed(t.prompts[0]) || use_negative) read_one(PromptRole::negative);
  return t;
}

// Gives the prompts of all text encoders the same number of conditions and chunks.
void TowerPrompts::equalize() {
  for (const Texts& texts : texts_) {
    if (texts.prompts.size() != texts_[0].prompts.size()) require_same_parts(texts.prompts[0], texts_[0].prompts[0]);
    for (size_t k = 0; k < std::min(texts.prompts.size(), texts_[0].prompts.size()); ++k)
      require_same_parts(texts_[0].prompts[k], texts.prompts[k]);
  }
  for (size_t k = 0; k < texts_[0].prompts.size(); ++k)
    for (size_t c = 0; c < texts_[0].prompts[k].conditions.size(); ++c) {
      size_t most = 0;
      for (const Texts& texts : texts_) most = std::max(most, texts.prompts[k].conditions[c].entries[0].chunks.size());
      for (Texts& texts : texts_)
        for (text::PromptEntry& entry : texts.prompts[k].conditions[c].entries) entry.chunks.resize(most, texts.empty_chunk);
    }
}

std::vector<EncodedPrompt> TowerPrompts::encode(const diffusion::Loaded& networks, Backend& host, size_t wanted) const {
  std::vector<std::vector<EncodedPrompt>> of_prompts(wanted);  // per text encoder
  for (size_t i = 0; i < towers_.size(); ++i) {
    const Texts& texts = texts_[i];
    std::vector<Tensor> embeddings;
    for (const TextualInversion& v : texts.vectors)
      embeddings.push_back(Tensor::from(host, {v.vectors, towers_[i].config.width}, std::span<const float>(v.values)));
    const auto encode_some = [&](size_t first, size_t count, int64_t clip_skip) {
      const PromptEncoding how = {.syntax = syntax_,
                                  .emphasis = emphasis_,
                                  .clip_skip = clip_skip,
                                  .final_norm = rules_.final_norm,
                                  .padding = rules_.padding,
                                  .pooled_unprojected = rules_.pooled_unprojected};
      const auto some = std::span(texts.prompts).subspan(first, count);
      std::vector<EncodedPrompt> encoded = encode_prompts(networks[slots_[i]], some, embeddings, texts.empty_chunk, how);
      for (size_t k = 0; k < count; ++k) {
        diffusion::require_finite(encoded[k], towers_[i].names.encoder);
        of_prompts[first + k].push_back(diffusion::moved(std::move(encoded[k]), host));
      }
    };
    if (texts.clip_skip == texts.clip_skip_negative) {
      encode_some(0, wanted, texts.clip_skip);
    } else {
      encode_some(0, 1, texts.clip_skip);
      if (wanted > 1) encode_some(1, 1, texts.clip_skip_negative);
    }
  }
  std::vector<EncodedPrompt> out;
  for (const std::vector<EncodedPrompt>& prompt : of_prompts) out.push_back(side_by_side(prompt));
  return out;
}

}  // namespace hearth::models::clip
