// From parsed prompts (text/prompt/prompt.h) to the states of a CLIP text encoder.
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

// A1111's "Original": the states of all texts of a prompt times their weights, then times one factor that restores their common
// mean. z and weights of each text; a text that occurs several times counts each time (`times`).
std::vector<Tensor> multiply_keeping_mean(std::span<const Tensor> z, std::span<const std::vector<float>> weights,
                                          std::span<const int64_t> times);

// ComfyUI: (z − empty)·w + empty per token; empty [1, T, C] are the states of the empty prompt.
Tensor states_from_empty(const Tensor& z, const Tensor& empty, std::span<const float> weights);

using diffusion::EncodedCondition, diffusion::EncodedEntry, diffusion::EncodedPrompt;

// Names of the conditioning tensors that a CLIP text encoder outputs.
inline constexpr std::string_view states = "context";  // [n, T, C] f32: input of cross-attention
inline constexpr std::string_view pooled = "pooled";   // [n, P] f32: the projected vector, if the encoder has a projection

struct PromptEncoding {
  text::PromptSyntax syntax = text::PromptSyntax::plain;
  text::Emphasis emphasis = text::Emphasis::original;
  int64_t clip_skip = 1;  // 1: the last layer's states, 2: the next-to-last layer's …
  bool final_norm = true;
  parts::ClipPadding padding = parts::ClipPadding::attended;
  bool pooled_unprojected = false;  // an encoder without a projection has a pooled vector, too: the one that would be projected
};

// Every distinct chunk is encoded once. `embeddings`: [n, C] f32 each, indexed as in the chunks' slots; `empty`: text::empty_chunk.
// The pooled vector is that of an entry's first chunk, and is not weighted. All conditions have the same T: as in A1111, shorter ones
// repeat their last state.
std::vector<EncodedPrompt> encode_prompts(const parts::ClipTextModel& model, std::span<const text::Prompt> prompts,
                                          std::span<const Tensor> embeddings, const text::Chunk& empty, const PromptEncoding& how);

// The states of one prompt from several encoders, concatenated along C: [1, T, C₁], [1, T, C₂] … → [1, T, C₁ + C₂ …], and their pooled
// vectors, of those that have one. All have the same conditions and T; their entries may change at different steps.
EncodedPrompt side_by_side(std::span<const EncodedPrompt> of_encoders);

}  // namespace hearth::models::clip
