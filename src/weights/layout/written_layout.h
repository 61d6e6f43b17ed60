// Where the components of a checkpoint go in a single file.
#pragma once

#include "weights/checkpoint.h"

namespace hearth {

// The family in whose layout a checkpoint is written: of those that have a place for all of its components that any layout has a place for,
// the one of fewest components. Null where none has, or no layout knows any of them.
const ImageFiles* layout_of(const Checkpoint& checkpoint, std::span<const KnownFamily> families);

// A component's place in a layout, by its name and class; null where it has none.
const WrittenPlace* place_in(const ImageFiles& layout, const Component& component);

// The names that a component with these official tensors gets there.
NameMap names_in(const WrittenPlace& place, const TensorList& official);

}  // namespace hearth
