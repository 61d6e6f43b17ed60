// AutoencoderTiny in checkpoint files.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::parts {

// Layouts "diffusers" and "numbers". "numbers" is the author's file of the published decoder: names are plain numbers, one higher than
// the official ones, because its first layer clamps the latents. A file without a configuration is a published one, which has the class's
// defaults and the latent channels of its tensors.
extern const NetworkFiles autoencoder_tiny_files;

}  // namespace hearth::parts
