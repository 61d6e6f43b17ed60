// Components that several families have. A family defines the row of a component that is its own.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::slots {

inline constexpr Slot unet{.name = "unet", .spoken = "UNet", .role = ComponentRole::denoiser};
inline constexpr Slot vae{.name = "vae", .spoken = "VAE", .role = ComponentRole::autoencoder};
inline constexpr Slot text_encoder{.name = "text_encoder", .spoken = "text encoder", .role = ComponentRole::text_encoder};
inline constexpr Slot text_encoder_2{.name = "text_encoder_2", .spoken = "second text encoder", .role = ComponentRole::text_encoder};

}  // namespace hearth::models::slots
