// The transformer's tensors in its authors' layout, its sizes, and what `hearth inspect` recognizes.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::sana {

// Layouts "original" and "diffusers". Files of the authors also have the learned text of empty prompts and the table of positions, which no
// program uses; the table's size tells for which images the model is.
extern const NetworkFiles transformer_files;
std::vector<Signature> transformer_signatures();

}  // namespace hearth::models::sana
