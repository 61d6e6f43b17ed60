// UNet2DConditionModel in files.
#pragma once

#include "weights/inspection/signatures.h"
#include "weights/layout/network_files.h"

namespace hearth::parts {

extern const NetworkFiles unet_files;  // spellings "original" (CompVis, Stability) and "diffusers"

// What tells families of this network apart.
struct UnetKind {
  int64_t width = 320;          // channels of the first level
  int64_t context = 768;        // of the text states
  int64_t label = 0;            // of the added embedding; 0: none
  bool attends_at_once = true;  // from the first level on
};
// Of `name` and its variants, which take other channels in: inpainting, InstructPix2Pix, depth.
std::vector<Signature> unet_signatures(const std::string& name, const UnetKind& kind);

}  // namespace hearth::parts
