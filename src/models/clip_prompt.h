// From prompts that have been read (text/prompt/prompt.h) to what a denoiser is asked under.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "parts/clip/clip_text.h"
#include "sampling/guidance.h"
#include "text/prompt/prompt.h"

namespace hearth::models {

// z [n, T, C] f32 times a weight per token (n·T of them). A1111's "No norm".
Tensor multiply_states(const Tensor& z, std::span<const float> weights);

// A1111's "Original": the states of all texts of a prompt times their weights, then all of them times one factor that gives them back
// the mean that they had together. z and weights of each text; a text that a prompt comes back to counts each time (`times`).
std::vector<Tensor> multiply_keeping_mean(std::span<const Tensor> z, std::span<const std::vector<float>> weights,
                                          std::span<const int64_t> times);

// ComfyUI: (z − empty)·w + empty per token; empty [1, T, C] are the states of a prompt without text.
Tensor states_from_empty(const Tensor& z, const Tensor& empty, std::span<const float> weights);

// What a denoiser is asked under.
struct Conditioning {
  Tensor states;  // [n, T, C] f32: what its cross-attention sees
  Tensor added;   // [n, A] f32: what is added to its time; undefined where it takes none
};
// [1, …] → [n, …], and [n, …], [m, …] → [n + m, …].
Conditioning repeated(const Conditioning& one, int64_t n);
Conditioning concat(const Conditioning& a, const Conditioning& b);

struct EncodedEntry {
  int64_t end = 0;  // as text::ScheduledText::end
  Conditioning given;
};
struct EncodedCondition {
  double weight = 1;
  std::vector<EncodedEntry> entries;
};
// All conditions of one T: A1111 repeats the last state of shorter ones.
struct EncodedPrompt {
  std::vector<EncodedCondition> conditions;
  bool composed() const { return conditions.size() > 1 || conditions[0].weight != 1; }
};

struct PromptEncoding {
  text::PromptSyntax syntax = text::PromptSyntax::plain;
  text::Emphasis emphasis = text::Emphasis::original;
  int64_t clip_skip = 1;  // 1: the last layer's states, 2: the last but one's …
  bool final_norm = true;
};

// Every chunk goes through the encoder once, however often it comes back. `embeddings`: [n, C] f32 each, as the chunks' slots count
// them; `empty`: text::empty_chunk. Where the encoder has a projection, `added` is its projected vector [1, P] of an entry's first chunk,
// which weights do not change.
std::vector<EncodedPrompt> encode_prompts(const parts::ClipTextModel& model, std::span<const text::Prompt> prompts,
                                          std::span<const Tensor> embeddings, const text::Chunk& empty, const PromptEncoding& how);

// The same prompt as several encoders have it, one behind the other along C: states [1, T, C₁], [1, T, C₂] … → [1, T, C₁ + C₂ …]; `added`
// is the last one's. All have the same conditions and T; their entries may change at different steps.
EncodedPrompt side_by_side(std::span<const EncodedPrompt> of_encoders);

// The network: x [n, H, W, C] under n conditionings, the last `disturbed` of them with the guidance's disturbance → its answer, as x.
using AskUnder = std::function<Tensor(const Tensor& x, const Conditioning& given, int64_t disturbed)>;

// What the denoiser asks for at step `step` (from 0): x, a batch for each branch → as many answers. `negative` must be there where it is
// a branch or the prompt is composed. A composed prompt's answer (Liu et al. 2022, arXiv 2206.01714) is
//   negative + Σ weightᵢ · (answerᵢ − negative)
// so that guidance by s on it is A1111's sum of differences times s·weightᵢ; it is f32.
Tensor ask_under_prompts(const AskUnder& ask, const Tensor& x, int64_t step, const sampling::Branches& branches,
                         const EncodedPrompt* negative, const EncodedPrompt& prompt);

}  // namespace hearth::models
