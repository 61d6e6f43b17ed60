// From prompts that have been read (text/prompt/prompt.h) to the states of a CLIP text encoder.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "models/diffusion/conditioning.h"
#include "parts/clip/clip_text.h"
#include "text/prompt/prompt.h"

namespace hearth::models::clip {

// z [n, T, C] f32 times a weight per token (n·T of them). A1111's "No norm".
Tensor multiply_states(const Tensor& z, std::span<const float> weights);

// A1111's "Original": the states of all texts of a prompt times their weights, then all of them times one factor that gives them back
// the mean that they had together. z and weights of each text; a text that a prompt comes back to counts each time (`times`).
std::vector<Tensor> multiply_keeping_mean(std::span<const Tensor> z, std::span<const std::vector<float>> weights,
                                          std::span<const int64_t> times);

// ComfyUI: (z − empty)·w + empty per token; empty [1, T, C] are the states of a prompt without text.
Tensor states_from_empty(const Tensor& z, const Tensor& empty, std::span<const float> weights);

using diffusion::EncodedCondition, diffusion::EncodedEntry, diffusion::EncodedPrompt;

// Names of a conditioning's tensors that a CLIP text encoder gives.
inline constexpr std::string_view states = "context";  // [n, T, C] f32: what cross-attention sees
inline constexpr std::string_view pooled = "pooled";   // [n, P] f32: the projected vector, where the encoder has a projection

struct PromptEncoding {
  text::PromptSyntax syntax = text::PromptSyntax::plain;
  text::Emphasis emphasis = text::Emphasis::original;
  int64_t clip_skip = 1;  // 1: the last layer's states, 2: the last but one's …
  bool final_norm = true;
};

// Every chunk goes through the encoder once, however often it comes back. `embeddings`: [n, C] f32 each, as the chunks' slots count
// them; `empty`: text::empty_chunk. The pooled vector is that of an entry's first chunk, which weights do not change. All conditions have
// one T: A1111 repeats the last state of shorter ones.
std::vector<EncodedPrompt> encode_prompts(const parts::ClipTextModel& model, std::span<const text::Prompt> prompts,
                                          std::span<const Tensor> embeddings, const text::Chunk& empty, const PromptEncoding& how);

// The same prompt as several encoders have it, one behind the other along C: states [1, T, C₁], [1, T, C₂] … → [1, T, C₁ + C₂ …]; the
// pooled vector is the last one's. All have the same conditions and T; their entries may change at different steps.
EncodedPrompt side_by_side(std::span<const EncodedPrompt> of_encoders);

}  // namespace hearth::models::clip
