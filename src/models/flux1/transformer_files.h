// FluxTransformer2DModel in checkpoint files.
#pragma once

#include "weights/inspection/signatures.h"
#include "weights/layout/network_files.h"

namespace hearth::models::flux1 {

const NameMap& original_names();              // Black Forest Labs'
extern const NetworkFiles transformer_files;  // layouts "original" (Black Forest Labs) and "diffusers"

// By input channels and guidance, each in both layouts.
std::vector<Signature> transformer_signatures();

}  // namespace hearth::models::flux1
