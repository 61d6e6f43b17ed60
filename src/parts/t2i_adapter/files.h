// T2IAdapter in checkpoint files.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::parts {

extern const NetworkFiles t2i_adapter_files;  // layouts "original" and "original, light" (the authors') and "diffusers"

}  // namespace hearth::parts
