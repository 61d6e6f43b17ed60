#include "models/stable_diffusion/prompts.h"

#include <algorithm>

#include "core/error.h"
#include "models/clip/embeddings.h"
#include "models/clip/prompt_states.h"
#include "models/request.h"
#include "parts/unet/unet.h"

namespace hearth::models::stable_diffusion {
namespace {

using diffusion::EncodedCondition, diffusion::EncodedEntry, diffusion::EncodedPrompt;
using Role = text::PromptRole;

bool composed(const text::Prompt& prompt) { return prompt.conditions.size() > 1 || prompt.conditions[0].weight != 1; }

// The prompt of the second text encoder, or its negative prompt, if it has one of its own.
std::optional<std::string> second(const Request& r, std::string_view option) { return option_of<std::string>(r.options, option); }

bool has_negative(const Request& r) { return r.negative_prompt || second(r, "negative_prompt_2"); }

// Zeros instead of a negative prompt: as the checkpoint says if none is given. A1111 also treats an empty one as not given; ComfyUI always
// encodes it.
bool is_zero(const StableDiffusionConfig& config, const Request& r) {
  if (!config.zeros_for_no_negative || r.compat == sampling::Compat::comfyui) return false;
  const bool empty = r.negative_prompt.value_or("").empty() && second(r, "negative_prompt_2").value_or("").empty();
  return r.compat == sampling::Compat::a1111 ? empty : !has_negative(r);
}

void add_warning(const std::string& warning, ResolvedImage& resolved) {
  if (std::ranges::find(resolved.warnings, warning) == resolved.warnings.end()) resolved.warnings.push_back(warning);
}

// The text for a text encoder.
std::string text_of(const Request& r, Role role, size_t tower) {
  if (role == Role::positive) return tower == 0 ? r.prompt : second(r, "prompt_2").value_or(r.prompt);
  const std::string first = r.negative_prompt.value_or("");
  return tower == 0 ? first : second(r, "negative_prompt_2").value_or(first);
}

// Clip skip of a text encoder. In diffusers and ComfyUI it applies to all of them, in A1111 not to OpenCLIP's.
int64_t clip_skip_of(const StableDiffusionConfig& config, const Request& r, size_t tower, ResolvedImage& resolved) {
  const TowerNames& names = config.towers[tower].names;
  const int64_t own = config.family->clip_skip, layers = config.towers[tower].config.layers;
  const auto of_second = tower > 0 ? option_of<int64_t>(r.options, "clip_skip_2") : std::nullopt;
  int64_t clip_skip = option_of<int64_t>(r.options, "clip_skip").value_or(own);
  if (of_second) {
    clip_skip = *of_second;
  } else if (r.compat == sampling::Compat::a1111 && names.open_clip && clip_skip != own) {
    add_warning(fmt::format("clip skip {} does not apply to {}, which stays at {}, as in A1111", clip_skip, names.encoder, own), resolved);
    clip_skip = own;
  }
  if (clip_skip < 1 || clip_skip > layers)
    fail<UsageError>("generate: clip skip{} is {}, expected 1 to {}", tower > 0 ? " of the second text encoder" : "", clip_skip, layers);
  return clip_skip;
}

}  // namespace

TowerPrompts::TowerPrompts(const StableDiffusionConfig& config, std::vector<diffusion::Slot<parts::ClipTextModel>> slots,
                           const ImageTask& task, bool use_negative, Backend& host, ResolvedImage& resolved)
    : config_(config),
      slots_(std::move(slots)),
      syntax_(syntax_of(task.request)),
      emphasis_(emphasis_of(task.request)),
      guidance_(resolved.embedded_guidance) {
  const Request& request = task.request;
  std::vector<int64_t> clip_skip;
  for (size_t i = 0; i < config.towers.size(); ++i) clip_skip.push_back(clip_skip_of(config, request, i, resolved));
  for (size_t i = 0; i < config.towers.size(); ++i) {
    std::vector<text::EmbeddingName> names;
    Tower& tower = towers_.emplace_back(read(i, task, use_negative, host, names, resolved));
    tower.clip_skip = clip_skip[i];
    // diffusers encodes the negative prompt without clip skip.
    tower.clip_skip_negative = request.compat == sampling::Compat::diffusers ? config.family->clip_skip : tower.clip_skip;
    if (i == 0) resolved.embeddings = std::move(names);
  }
  resolved.options["clip_skip"] = clip_skip[0];
  if (clip_skip.size() > 1) resolved.options["clip_skip_2"] = clip_skip[1];
  equalize();
  zero_negative_ = has_negative() && is_zero(config, request);
  if (!has_negative() && !text_of(request, Role::negative, 0).empty())
    add_warning(config.unet.guidance ? "the UNet receives the guidance scale as input: the negative prompt is ignored"
                                     : fmt::format("guidance {} is at most 1: the negative prompt is ignored", *request.guidance),
                resolved);
  if (!config.family->sizes) return;
  const bool edits_by_instruction = config.beside() == diffusion::Beside::image;  // starts from noise in spite of the image
  const StartsFrom starts_from = task.edit.starts() && !edits_by_instruction ? StartsFrom::image : StartsFrom::noise;
  for (const Role role : {Role::positive, Role::negative})
    sizes_.push_back(config.family->sizes(request.options, resolved.width, resolved.height, role, starts_from));
}

TowerPrompts::Tower TowerPrompts::read(size_t index, const ImageTask& task, bool use_negative, Backend& host,
                                       std::vector<text::EmbeddingName>& names, ResolvedImage& resolved) const {
  const StableDiffusionConfig::Tower& tower = config_.towers[index];
  const Request& request = task.request;
  Tower t;
  t.vectors = clip::read_embeddings(request.embeddings, syntax_, std::string(tower.names.embedding), tower.config.width, host, names);
  const text::ClipTokenizer tokenizer = text::tokenizer_for(syntax_, tower.tokenizer);
  t.empty_chunk = text::empty_chunk(tokenizer);
  const text::PromptReading reading = {.syntax = syntax_, .emphasis = emphasis_, .steps = request.steps, .before = task.steps_before};
  const auto read_one = [&](Role role) {
    t.prompts.push_back(text::read_prompt(text_of(request, role, index), role, reading, tokenizer, names));
    for (const std::string& warning : t.prompts.back().warnings) add_warning(warning, resolved);
    resolved.chunks = std::max(resolved.chunks, t.prompts.back().chunks);
  };
  read_one(Role::positive);
  if (composed(t.prompts[0]) || use_negative) read_one(Role::negative);
  return t;
}

// Gives the prompts of all text encoders the same number of conditions and chunks.
void TowerPrompts::equalize() {
  for (size_t k = 0; k < towers_[0].prompts.size(); ++k)
    for (const Tower& tower : towers_)
      if (tower.prompts.size() != towers_[0].prompts.size() ||
          tower.prompts[k].conditions.size() != towers_[0].prompts[k].conditions.size())
        fail<UsageError>(
            "generate: the prompts of the text encoders differ in their parts with AND, expected equally many, with the same weights");
  for (size_t k = 0; k < towers_[0].prompts.size(); ++k)
    for (size_t c = 0; c < towers_[0].prompts[k].conditions.size(); ++c) {
      size_t most = 0;
      for (const Tower& tower : towers_) {
        const text::Condition& condition = tower.prompts[k].conditions[c];
        most = std::max(most, condition.entries[0].chunks.size());
        if (condition.weight != towers_[0].prompts[k].conditions[c].weight)
          fail<UsageError>("generate: the prompts of the text encoders differ in their weights with AND: {} and {}, expected equal weights",
                           towers_[0].prompts[k].conditions[c].weight, condition.weight);
      }
      for (Tower& tower : towers_)
        for (text::PromptEntry& entry : tower.prompts[k].conditions[c].entries) entry.chunks.resize(most, tower.empty_chunk);
    }
}

std::vector<EncodedPrompt> TowerPrompts::encode(const diffusion::Loaded& networks, Backend& host) const {
  const size_t read = towers_[0].prompts.size(), wanted = zero_negative_ ? 1 : read;
  std::vector<std::vector<EncodedPrompt>> of_prompts(wanted);  // per text encoder
  for (size_t i = 0; i < towers_.size(); ++i) {
    const Tower& tower = towers_[i];
    std::vector<Tensor> embeddings;
    for (const TextualInversion& v : tower.vectors)
      embeddings.push_back(Tensor::from(host, {v.vectors, config_.towers[i].config.width}, std::span<const float>(v.values)));
    const auto encode = [&](size_t first, size_t count, int64_t clip_skip) {
      const clip::PromptEncoding how = {
          .syntax = syntax_, .emphasis = emphasis_, .clip_skip = clip_skip, .final_norm = config_.family->final_norm};
      const auto some = std::span(tower.prompts).subspan(first, count);
      std::vector<EncodedPrompt> encoded = clip::encode_prompts(networks[slots_[i]], some, embeddings, tower.empty_chunk, how);
      for (size_t k = 0; k < count; ++k) of_prompts[first + k].push_back(diffusion::moved(std::move(encoded[k]), host));
    };
    if (tower.clip_skip == tower.clip_skip_negative) {
      encode(0, wanted, tower.clip_skip);
    } else {
      encode(0, 1, tower.clip_skip);
      if (wanted > 1) encode(1, 1, tower.clip_skip_negative);
    }
  }
  std::vector<EncodedPrompt> out;
  for (const std::vector<EncodedPrompt>& prompt : of_prompts) out.push_back(clip::side_by_side(prompt));
  if (zero_negative_) out.push_back(diffusion::zeros_like(out[0]));
  // The pooled vector becomes the UNet's addition to the time embedding.
  for (size_t k = 0; k < out.size(); ++k)
    for (EncodedCondition& condition : out[k].conditions)
      for (EncodedEntry& entry : condition.entries) {
        auto& tensors = entry.given.tensors;
        if (!sizes_.empty()) tensors["added"] = parts::pooled_and_sizes(config_.unet, entry.given[clip::pooled], sizes_[k]);
        tensors.erase(std::string(clip::pooled));
        if (config_.unet.guidance) tensors["guidance"] = parts::guidance_embedding(config_.unet, host, guidance_);
      }
  return out;
}

}  // namespace hearth::models::stable_diffusion
