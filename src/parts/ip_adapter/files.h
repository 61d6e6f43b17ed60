// IP-Adapters in checkpoint files.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::parts {

// One layout, "original": image_proj.… and ip_adapter.N.…, as safetensors or in a pickle.
extern const NetworkFiles ip_adapter_files;

}  // namespace hearth::parts
