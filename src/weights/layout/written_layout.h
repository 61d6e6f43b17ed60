// The layout in which the components of a checkpoint are written to a single file.
#pragma once

#include "weights/checkpoint.h"

namespace hearth {

// The family in whose layout a checkpoint is written. A family qualifies if its layout holds every component that any layout holds; among
// those, the one with the fewest components is chosen. nullptr if none qualifies, or no layout holds any of the components, or none holds
// its denoiser.
const ImageFiles* layout_of(const Checkpoint& checkpoint, std::span<const KnownFamily> families);

// A component's place in a layout, by its name and class; nullptr if it has none.
const WrittenPlace* place_in(const ImageFiles& layout, const Component& component);

// The names in that place of a component with these official tensors.
NameMap names_in(const WrittenPlace& place, const TensorList& official);

}  // namespace hearth
