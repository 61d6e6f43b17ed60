// What a set of tensors is, judged by its structure: a network counts as recognised only where every name and shape of its
// signature is there and nothing that tells it from its relatives contradicts (never by the first name that looks familiar).
#pragma once

#include "weights/weights.h"

namespace hearth {

struct Recognised {
  std::string part;    // "denoiser", "autoencoder", "text encoder"
  std::string what;    // "Stable Diffusion 1.x UNet"
  std::string layout;  // "diffusers", "transformers" or "original": whose tensor names
  std::string prefix;  // before every name, "model.diffusion_model." in single files; "" in most component files
};

// Every network that the tensors hold; a file with several components gives several. Two candidates for one part mean that
// the structure does not decide between them.
std::vector<Recognised> recognise(const std::map<std::string, TensorInfo>& tensors);

}  // namespace hearth
