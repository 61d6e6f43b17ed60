#include "weights/layout/written_layout.h"

#include <algorithm>

namespace hearth {

const WrittenPlace* place_in(const ImageFiles& layout, const Component& component) {
  const auto found = std::ranges::find_if(layout.written, [&](const WrittenPlace& place) {
    return place.slot->name == component.name && place.network->has_class(component.class_name);
  });
  return found == layout.written.end() ? nullptr : &*found;
}

const ImageFiles* layout_of(const Checkpoint& checkpoint, std::span<const KnownFamily> families) {
  std::vector<const Component*> known;
  for (const Component& c : checkpoint.components()) {
    if (std::ranges::any_of(families, [&](const KnownFamily& f) { return place_in(*f.files, c); })) known.push_back(&c);
    else if (const Slot* slot = slot_of(families, c.name); slot && slot->role == ComponentRole::denoiser) return nullptr;
  }
  if (known.empty()) return nullptr;
  const auto has_all = [&](const ImageFiles& layout) {
    if (!std::ranges::all_of(known, [&](const Component* c) { return place_in(layout, *c); })) return false;
    return std::ranges::all_of(known, [&](const Component* c) {
      const WrittenPlace& place = *place_in(layout, *c);
      return !place.holds || place.holds(checkpoint.config(c->name));
    });
  };
  const ImageFiles* best = nullptr;
  for (const KnownFamily& family : families)
    if ((!best || family.files->written.size() < best->written.size()) && has_all(*family.files)) best = family.files;
  return best;
}

NameMap names_in(const WrittenPlace& place, const TensorList& official) {
  return std::ranges::find(place.network->spellings, place.spelling, &Spelling::name)->writing(official);
}

}  // namespace hearth
