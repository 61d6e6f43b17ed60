// AutoencoderKL in files.
#pragma once

#include "weights/inspection/signatures.h"
#include "weights/layout/network_files.h"

namespace hearth::parts {

// Spellings "original" (CompVis) and "diffusers". Early diffusers wrote its attention as query, key, value and proj_attn; most published
// autoencoders of Stable Diffusion 1.x have these names.
extern const NetworkFiles autoencoder_kl_files;

// Levels of an autoencoder, and the names of CompVis' files, which depend on them.
int64_t levels_of_original_autoencoder(const TensorList& vae);
int64_t levels_of_official_autoencoder(const TensorList& vae);
NameMap autoencoder_kl_names(int64_t levels);

// One of four latent channels, with the widths that all published ones have.
std::vector<Signature> autoencoder_kl_signatures(const std::string& name);

}  // namespace hearth::parts
