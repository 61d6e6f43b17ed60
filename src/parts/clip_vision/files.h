// CLIP's vision tower in checkpoint files.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::parts {

// Layout "transformers". A file may hold the whole CLIPModel, whose text tower is ignored. Without a configuration it has that of the
// published tower of its sizes: ViT-L/14, ViT-H/14, ViT-bigG/14.
extern const NetworkFiles clip_vision_files;

}  // namespace hearth::parts
