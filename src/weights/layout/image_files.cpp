#include "weights/layout/image_files.h"

#include <algorithm>

namespace hearth {

const NetworkFiles* network_of(std::span<const KnownFamily> families, std::string_view class_name) {
  for (const KnownFamily& family : families)
    for (const NetworkPlace& place : family.files->places)
      if (place.network->has_class(class_name)) return place.network;
  return nullptr;
}

std::vector<const NetworkFiles*> networks_of(std::span<const KnownFamily> families) {
  std::vector<const NetworkFiles*> all;
  for (const KnownFamily& family : families)
    for (const NetworkPlace& place : family.files->places)
      if (std::ranges::find(all, place.network) == all.end()) all.push_back(place.network);
  return all;
}

std::vector<const Slot*> slots_of(std::span<const KnownFamily> families) {
  std::vector<const Slot*> all;
  for (const KnownFamily& family : families)
    for (const Slot* slot : family.files->slots)
      if (std::ranges::find(all, slot->name, &Slot::name) == all.end()) all.push_back(slot);
  return all;
}

const Slot* slot_of(std::span<const KnownFamily> families, std::string_view name) {
  const std::vector<const Slot*> all = slots_of(families);
  const auto found = std::ranges::find(all, name, &Slot::name);
  return found == all.end() ? nullptr : *found;
}

std::string label_of(std::span<const KnownFamily> families, std::string_view component) {
  const Slot* slot = slot_of(families, component);
  return std::string(slot ? slot->label : component);
}

std::string flag_of(std::string_view component) {
  std::string flag = "--" + std::string(component);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

std::string flag_of(const Slot& slot) { return slot.flag.empty() ? flag_of(slot.name) : std::string(slot.flag); }

std::vector<Signature> signatures_of(std::span<const KnownFamily> families) {
  std::vector<Signature> all;
  for (const KnownFamily& family : families)
    for (Signature& signature : family.files->signatures())
      if (std::ranges::find(all, signature) == all.end()) all.push_back(std::move(signature));
  return all;
}

}  // namespace hearth
