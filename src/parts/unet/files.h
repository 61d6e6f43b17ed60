// UNet2DConditionModel in checkpoint files.
#pragma once

#include "weights/inspection/signatures.h"
#include "weights/layout/network_files.h"

namespace hearth::parts {

extern const NetworkFiles unet_files;  // layouts "original" (CompVis, Stability) and "diffusers"

// Sizes that distinguish families of this network.
struct UnetKind {
  int64_t width = 320;          // channels of the first level
  int64_t context = 768;        // of the text states
  int64_t label = 0;            // of the added embedding; 0: none
  bool attends_at_once = true;  // the first level attends
};
// Signatures of `name` and its variants with other input channels: inpainting, InstructPix2Pix, depth.
std::vector<Signature> unet_signatures(const std::string& name, const UnetKind& kind);

}  // namespace hearth::parts
