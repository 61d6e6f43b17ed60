// SigLIP's vision tower and the Redux embedder in checkpoint files.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::parts {

// Layouts "transformers" and "bare" (the same without `vision_model.`, as transformers 5 writes it). A file may hold the whole SiglipModel,
// whose text tower is ignored, and the embedder. Without a configuration it has that of so400m-patch14-384, if the sizes are its own.
extern const NetworkFiles siglip_vision_files;

// One layout, "original": diffusers keeps the names of the publisher's file, which comes without a configuration. Such a file may hold the
// vision tower, too.
extern const NetworkFiles redux_files;

}  // namespace hearth::parts
