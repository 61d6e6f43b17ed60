// Image prompts by Redux in this family's conditionings, after diffusers' FluxPriorReduxPipeline 0.39.0.
//
//   text   [1, L, C] of T5   → Σ scaleᵢ · [text, rowsᵢ]   [1, L + T, C]: each reference image's rows follow the prompt's states
//   pooled [1, C'] of CLIP   → Σ pooled_scaleᵢ · pooled
//
// Without a prompt both are zeros (Prompts), as in the reference's pipeline without text encoders, and no text encoder is loaded.
#pragma once

#include "models/diffusion/latent_model.h"
#include "models/image_prompt/redux.h"

namespace hearth::models::flux1 {

inline constexpr Option redux_scale{.name = "redux_scale",
                                    .type = Option::Type::text,
                                    .summary =
                                        "Weight of each image of an image prompt, with which the prompt is weighted, too, before they "
                                        "are summed: one number, or one for each image",
                                    .standard = "1",
                                    .after = "references"};
inline constexpr Option redux_pooled_scale{.name = "redux_pooled_scale",
                                           .type = Option::Type::text,
                                           .summary = "The same for the pooled text",
                                           .standard = "1",
                                           .after = "references"};

// The values of both options for each of `images` reference images. UsageError for anything but one number or one for each, and for an
// option without an image prompt (0 images).
struct ReduxScales {
  std::vector<double> rows, pooled;
};
ReduxScales redux_scales(const OptionValues& given, size_t images);

// LatentModel::with_references.
diffusion::EncodedPrompt with_image_prompt(const image_prompt::Redux& redux, const diffusion::Loaded& networks, const ImageTask& task,
                                           diffusion::EncodedPrompt prompt, Backend& host);

}  // namespace hearth::models::flux1
