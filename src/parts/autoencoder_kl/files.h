// AutoencoderKL in checkpoint files.
#pragma once

#include "weights/inspection/signatures.h"
#include "weights/layout/network_files.h"

namespace hearth::parts {

// Layouts "original" (CompVis) and "diffusers". Early versions of diffusers named its attention query, key, value and proj_attn; most
// published autoencoders of Stable Diffusion 1.x have these names.
extern const NetworkFiles autoencoder_kl_files;

// Levels of an autoencoder, and the names of CompVis' files, which depend on them.
int64_t levels_of_original_autoencoder(const TensorList& vae);
int64_t levels_of_official_autoencoder(const TensorList& vae);
NameMap autoencoder_kl_names(int64_t levels);

// Signature of an autoencoder with four latent channels and the widths that all published ones have.
std::vector<Signature> autoencoder_kl_signatures(const std::string& name);

}  // namespace hearth::parts
