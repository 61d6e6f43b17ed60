// Ranks and alphas that an adapter gives outside of its tensors: in PEFT's adapter_config.json, and the same in the header of files that
// diffusers writes, there behind the component's name: {"unet.r": 4, "unet.lora_alpha": 8}.
#pragma once

#include "adapters/adapter_file.h"

namespace hearth::adapters {

// UnsupportedError for what hearth does not apply; IoError for malformed text.
void check_stated(const AdapterFile& file);
// α/r, or α/√r, of a module without an alpha of its own; 1 if the file states nothing about it.
double stated_scale(const AdapterFile& file, const Module& module, int64_t rank);

}  // namespace hearth::adapters
