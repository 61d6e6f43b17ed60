// Recognizes networks by the structure of their tensors. A network is recognized only if every name and shape of its signature is present
// and every name that would identify a related network is absent; one familiar name is never enough.
#pragma once

#include "weights/weights.h"

namespace hearth {

// The structure of a network in one layout. Families supply the signatures of their networks (weights/layout/image_files.h).
struct Signature {
  static constexpr int64_t any = -1;  // matches every size

  struct Needed {
    std::string name;
    std::vector<int64_t> shape;  // empty: matches every shape
    friend bool operator==(const Needed&, const Needed&) = default;
  };

  std::string_view part;    // "denoiser", "autoencoder", "text encoder"
  std::string what;         // "Stable Diffusion 1.x UNet"
  std::string_view layout;  // of the tensor names: "diffusers", "transformers", "original" or "gguf"
  std::vector<std::string_view> prefixes;
  std::vector<Needed> present;
  std::vector<std::string> absent;

  friend bool operator==(const Signature&, const Signature&) = default;
};

struct Recognized {
  std::string part, what, layout;  // Signature
  std::string prefix;              // of every name: "model.diffusion_model." in single files; "" in most component files
};

// Every network in `tensors` that matches one of `signatures`, or one that hearth recognizes but does not support (signatures_known.h)
// where none of `signatures` matches. A file with several components yields several. Two results for one `part` mean that the structure
// cannot distinguish them.
std::vector<Recognized> recognize(const std::map<std::string, TensorInfo>& tensors, std::span<const Signature> signatures);

}  // namespace hearth
