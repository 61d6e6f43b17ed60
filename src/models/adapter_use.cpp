#include "models/adapter_use.h"

#include "models/checkpoints.h"

namespace hearth::models {

std::vector<adapters::AdaptedNetwork> adapted_networks(const Checkpoint& checkpoint, const std::string& variant) {
  const std::vector<KnownFamily> families = image_files();
  std::vector<adapters::AdaptedNetwork> all;
  for (const Component& c : checkpoint.components()) {
    const Slot* slot = slot_of(families, c.name);
    const bool changes = slot && (slot->role == ComponentRole::denoiser || slot->role == ComponentRole::text_encoder);
    if (!changes || !checkpoint.network(c.name) || !checkpoint.is_there(c.name)) continue;
    all.push_back({.component = c.name,
                   .role = slot->role,
                   .tensors = checkpoint.tensors(c.name, variant)->list(),
                   .files = checkpoint.network(c.name),
                   .prefixes = checkpoint.prefixes(c.name),
                   .surplus = checkpoint.ignored(c.name)});
  }
  return all;
}

}  // namespace hearth::models
