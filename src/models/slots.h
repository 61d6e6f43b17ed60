// Components that several families have. A family defines the row of a component that is its own.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::slots {

inline constexpr Slot unet{.name = "unet", .label = "UNet", .role = ComponentRole::denoiser};
inline constexpr Slot transformer{.name = "transformer", .label = "transformer", .role = ComponentRole::denoiser};
inline constexpr Slot vae{.name = "vae", .label = "VAE", .role = ComponentRole::autoencoder};
inline constexpr Slot text_encoder{.name = "text_encoder", .label = "text encoder", .role = ComponentRole::text_encoder};
inline constexpr Slot text_encoder_2{.name = "text_encoder_2", .label = "second text encoder", .role = ComponentRole::text_encoder};
inline constexpr Slot image_encoder{
    .name = "image_encoder",
    .label = "image encoder",
    .role = ComponentRole::image_encoder,
    .adds =
        "the image encoder of image prompts: CLIP's vision tower for --ip-adapter, SigLIP's for --redux, if that does not hold it; "
        "llama.cpp's mmproj file of a text encoder that sees images and is a GGUF file"};
inline constexpr Slot image_embedder{.name = "image_embedder",
                                     .label = "Redux image embedder",
                                     .role = ComponentRole::image_encoder,
                                     .adds = "image prompts by Redux, from --reference: a folder with its image encoder, or the embedder",
                                     .flag = "--redux"};

// Of a run, not of a model: Request::controls.
// Of a run, too: Request::image_prompts.
inline constexpr Slot ip_adapter{.name = "ip_adapter", .label = "IP-Adapter", .role = ComponentRole::image_encoder};
inline constexpr Slot control{.name = "control", .label = "control network", .role = ComponentRole::image_encoder};

inline constexpr Slot text_encoder_3{.name = "text_encoder_3", .label = "third text encoder", .role = ComponentRole::text_encoder};

}  // namespace hearth::models::slots
