// AutoencoderTiny in files.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::parts {

// Spellings "diffusers" and "numbers": the decoder of the published one as its maker's file has it, numbers alone, one more than the
// official ones, because the limit on latents comes first. A file without a configuration is the published one, which is the class's
// default.
extern const NetworkFiles autoencoder_tiny_files;

}  // namespace hearth::parts
