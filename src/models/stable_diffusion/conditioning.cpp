#include "models/stable_diffusion/conditioning.h"

#include <algorithm>

#include "core/error.h"
#include "models/embeddings.h"
#include "models/stable_diffusion/editing.h"
#include "parts/unet/unet.h"

namespace hearth::models::stable_diffusion {
namespace {

using Role = text::PromptRole;

bool composed(const text::Prompt& prompt) { return prompt.conditions.size() > 1 || prompt.conditions[0].weight != 1; }

bool has_negative(const ImageRequest& r) { return r.negative_prompt || r.negative_prompt_2; }

// Zeros in place of a negative prompt: as the checkpoint says where none is given; A1111 also takes an empty one for none, ComfyUI encodes
// it in any case.
bool is_zero(const StableDiffusionConfig& config, const ImageRequest& r) {
  if (!config.zeros_for_no_negative || r.compat == sampling::Compat::comfyui) return false;
  const bool empty = r.negative_prompt.value_or("").empty() && r.negative_prompt_2.value_or("").empty();
  return r.compat == sampling::Compat::a1111 ? empty : !has_negative(r);
}

void tell(const std::string& warning, ResolvedImage& told) {
  if (std::ranges::find(told.warnings, warning) == told.warnings.end()) told.warnings.push_back(warning);
}

// The text that a tower reads.
std::string text_of(const ImageRequest& r, Role role, size_t tower) {
  if (role == Role::positive) return tower == 0 ? r.prompt : r.prompt_2.value_or(r.prompt);
  const std::string first = r.negative_prompt.value_or("");
  return tower == 0 ? first : r.negative_prompt_2.value_or(first);
}

void check_request(const StableDiffusionConfig& config, const ImageRequest& r) {
  const std::string_view name = config.family->name;
  if (config.towers.size() < 2 && (r.prompt_2 || r.negative_prompt_2))
    fail<UsageError>("generate: a second prompt, but {} has one text encoder", name);
  if (config.towers.size() < 2 && r.clip_skip_2) fail<UsageError>("generate: a second clip skip, but {} has one text encoder", name);
  if (!config.family->sizes && r.sizes != SizeConditions())
    fail<UsageError>("generate: sizes or an aesthetic score beside the prompt, but {} is told none", name);
  const bool scores = config.family->scores || (config.refiner && config.refiner->family->scores);
  if (!scores && (r.sizes.aesthetic_score || r.sizes.negative_aesthetic_score))
    fail<UsageError>("generate: an aesthetic score, but {} is told none; a refiner is", name);
}

// Of a tower. diffusers and ComfyUI move all encoders, A1111 none of OpenCLIP's.
int64_t clip_skip_of(const StableDiffusionConfig& config, const ImageRequest& r, size_t tower, ResolvedImage& told) {
  const TowerNames& names = config.towers[tower].names;
  const int64_t own = config.family->clip_skip, layers = config.towers[tower].config.layers;
  int64_t clip_skip = r.clip_skip.value_or(own);
  if (tower > 0 && r.clip_skip_2) {
    clip_skip = *r.clip_skip_2;
  } else if (r.compat == sampling::Compat::a1111 && names.open_clip && clip_skip != own) {
    tell(fmt::format("clip skip {} leaves {} at {}, as A1111 does", clip_skip, names.encoder, own), told);
    clip_skip = own;
  }
  if (clip_skip < 1 || clip_skip > layers)
    fail<UsageError>("generate: clip skip {}{} does not fit, needed 1 to {}", clip_skip, tower > 0 ? " of the second text encoder" : "",
                     layers);
  return clip_skip;
}

// What a tower makes of the prompts; `names` are the embeddings', `told` gets the rest.
TowerPrompts read_for(const StableDiffusionConfig::Tower& tower, const ImageRequest& request, size_t index, bool ask_negative,
                      Backend& device, std::vector<text::EmbeddingName>& names, ResolvedImage& told) {
  TowerPrompts p;
  p.vectors = read_embeddings(request, std::string(tower.names.embedding), tower.config.width, device, names);
  const text::ClipTokenizer tokenizer = text::tokenizer_for(request.syntax, tower.tokenizer);
  p.empty_chunk = text::empty_chunk(tokenizer);
  const text::PromptReading reading = {
      .syntax = request.syntax, .emphasis = request.emphasis, .steps = request.steps, .before = request.steps_before};
  const auto read = [&](Role role) {
    p.prompts.push_back(text::read_prompt(text_of(request, role, index), role, reading, tokenizer, names));
    for (const std::string& warning : p.prompts.back().warnings) tell(warning, told);
    told.chunks = std::max(told.chunks, p.prompts.back().chunks);
  };
  read(Role::positive);
  if (composed(p.prompts[0]) || ask_negative) read(Role::negative);
  return p;
}

// Prompts of several towers: as many conditions, of as many chunks.
void even_out(std::vector<TowerPrompts>& towers) {
  for (size_t k = 0; k < towers[0].prompts.size(); ++k)
    for (const TowerPrompts& tower : towers)
      if (tower.prompts.size() != towers[0].prompts.size() || tower.prompts[k].conditions.size() != towers[0].prompts[k].conditions.size())
        fail<UsageError>(
            "generate: the prompts of the text encoders differ in their parts with AND, needed as many of them, with one weight each");
  for (size_t k = 0; k < towers[0].prompts.size(); ++k)
    for (size_t c = 0; c < towers[0].prompts[k].conditions.size(); ++c) {
      size_t most = 0;
      for (const TowerPrompts& tower : towers) {
        const text::Condition& condition = tower.prompts[k].conditions[c];
        most = std::max(most, condition.entries[0].chunks.size());
        if (condition.weight != towers[0].prompts[k].conditions[c].weight)
          fail<UsageError>("generate: the prompts of the text encoders differ in their weights with AND: {} and {}",
                           towers[0].prompts[k].conditions[c].weight, condition.weight);
      }
      for (TowerPrompts& tower : towers)
        for (text::PromptEntry& entry : tower.prompts[k].conditions[c].entries) entry.chunks.resize(most, tower.empty_chunk);
    }
}

// Zeros of the shape of a prompt's first conditioning.
EncodedPrompt zeros_like(const EncodedPrompt& prompt) {
  const EncodedEntry& entry = prompt.conditions[0].entries[0];
  const auto zeros = [](const Tensor& t) { return Tensor::zeros(t.backend(), t.shape()); };
  return {.conditions = {{.entries = {{entry.end, {.states = zeros(entry.given.states), .added = zeros(entry.given.added)}}}}}};
}

}  // namespace

Prompts read_prompts(const StableDiffusionConfig& config, const ImageRequest& request, bool ask_negative, Backend& device,
                     ResolvedImage& told) {
  Prompts p;
  check_request(config, request);
  std::vector<int64_t> clip_skip;
  for (size_t i = 0; i < config.towers.size(); ++i) clip_skip.push_back(clip_skip_of(config, request, i, told));
  if (told.clip_skip.empty()) told.clip_skip = clip_skip;
  for (size_t i = 0; i < config.towers.size(); ++i) {
    std::vector<text::EmbeddingName> names;
    TowerPrompts& tower = p.towers.emplace_back(read_for(config.towers[i], request, i, ask_negative, device, names, told));
    tower.clip_skip = clip_skip[i];
    // diffusers encodes the negative prompt as if nobody had asked for another layer.
    tower.clip_skip_negative = request.compat == sampling::Compat::diffusers ? config.family->clip_skip : tower.clip_skip;
    if (i == 0) told.embeddings = std::move(names);
  }
  even_out(p.towers);
  p.zero_negative = p.towers[0].prompts.size() > 1 && is_zero(config, request);
  if (p.towers[0].prompts.size() == 1 && !text_of(request, Role::negative, 0).empty())
    tell(config.unet.guidance ? "the UNet is told its guidance and not asked under a negative prompt: that is not used"
                              : fmt::format("guidance {} is at most 1: the negative prompt is not used", request.guidance.scale),
         told);
  return p;
}

std::vector<EncodedPrompt> encode_prompts(const StableDiffusionConfig& config, const ImageRequest& request, const Prompts& prompts,
                                          const ResolvedImage& size, std::span<const parts::ClipTextModel> models, Backend& device) {
  const size_t read = prompts.towers[0].prompts.size(), wanted = prompts.zero_negative ? 1 : read;
  std::vector<std::vector<EncodedPrompt>> of_prompts(wanted);  // each as the towers have it
  for (size_t i = 0; i < models.size(); ++i) {
    const TowerPrompts& tower = prompts.towers[i];
    std::vector<Tensor> embeddings;
    for (const TextualInversion& v : tower.vectors)
      embeddings.push_back(Tensor::from(device, {v.vectors, config.towers[i].config.width}, std::span<const float>(v.values)));
    const auto encode = [&](size_t first, size_t count, int64_t clip_skip) {
      const PromptEncoding how = {
          .syntax = request.syntax, .emphasis = request.emphasis, .clip_skip = clip_skip, .final_norm = config.family->final_norm};
      const auto some = std::span(tower.prompts).subspan(first, count);
      std::vector<EncodedPrompt> encoded = models::encode_prompts(models[i], some, embeddings, tower.empty_chunk, how);
      for (size_t k = 0; k < count; ++k) of_prompts[first + k].push_back(std::move(encoded[k]));
    };
    if (tower.clip_skip == tower.clip_skip_negative) {
      encode(0, wanted, tower.clip_skip);
    } else {
      encode(0, 1, tower.clip_skip);
      if (wanted > 1) encode(1, 1, tower.clip_skip_negative);
    }
  }
  std::vector<EncodedPrompt> out;
  for (const std::vector<EncodedPrompt>& prompt : of_prompts) out.push_back(side_by_side(prompt));
  if (prompts.zero_negative) out.push_back(zeros_like(out[0]));
  const bool told = beside_of(config) == Beside::picture;  // from noise, whatever picture there is
  const Begins begins = request.edit.starts() && !told ? Begins::with_picture : Begins::with_noise;
  for (size_t k = 0; k < out.size(); ++k)
    for (EncodedCondition& condition : out[k].conditions)
      for (EncodedEntry& entry : condition.entries) {
        Tensor& added = entry.given.added;
        added = config.family->sizes ? parts::pooled_and_sizes(config.unet, added,
                                                               config.family->sizes(request.sizes, size.width, size.height,
                                                                                    k == 0 ? Role::positive : Role::negative, begins))
                                     : Tensor();
      }
  return out;
}

}  // namespace hearth::models::stable_diffusion
