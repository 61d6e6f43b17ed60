// Components that several families have. A family defines the row of a component that is its own.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::slots {

inline constexpr Slot unet{.name = "unet", .label = "UNet", .role = ComponentRole::denoiser};
inline constexpr Slot transformer{.name = "transformer", .label = "transformer", .role = ComponentRole::denoiser};
inline constexpr Slot vae{.name = "vae", .label = "VAE", .role = ComponentRole::autoencoder};
inline constexpr Slot text_encoder{.name = "text_encoder", .label = "text encoder", .role = ComponentRole::text_encoder};
inline constexpr Slot text_encoder_2{.name = "text_encoder_2", .label = "second text encoder", .role = ComponentRole::text_encoder};

}  // namespace hearth::models::slots
