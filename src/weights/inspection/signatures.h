// What a set of tensors is, judged by its structure: a network counts as recognized only where every name and shape of its
// signature is there and nothing that tells it from its relatives contradicts (never by the first name that looks familiar).
#pragma once

#include "weights/weights.h"

namespace hearth {

// The structure of a network in one layout. Families bring those of their networks (weights/layout/image_files.h).
struct Signature {
  static constexpr int64_t any = -1;  // a size that does not matter

  struct Needed {
    std::string name;
    std::vector<int64_t> shape;  // no axes: the whole shape does not matter
    friend bool operator==(const Needed&, const Needed&) = default;
  };

  std::string_view part;    // "denoiser", "autoencoder", "text encoder"
  std::string what;         // "Stable Diffusion 1.x UNet"
  std::string_view layout;  // "diffusers", "transformers" or "original": whose tensor names
  std::vector<std::string_view> prefixes;
  std::vector<Needed> present;
  std::vector<std::string> absent;

  friend bool operator==(const Signature&, const Signature&) = default;
};

struct Recognized {
  std::string part, what, layout;  // Signature
  std::string prefix;              // before every name, "model.diffusion_model." in single files; "" in most component files
};

// Every network that the tensors hold, of those with these signatures and of what hearth names and does not run (signatures_known.h); a
// file with several components gives several. Two candidates for one part mean that the structure does not decide between them.
std::vector<Recognized> recognize(const std::map<std::string, TensorInfo>& tensors, std::span<const Signature> signatures);

}  // namespace hearth
