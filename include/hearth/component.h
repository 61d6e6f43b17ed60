// The networks that an image model is made of.
#pragma once

namespace hearth {

enum class ComponentRole { denoiser, autoencoder, text_encoder };

}  // namespace hearth
