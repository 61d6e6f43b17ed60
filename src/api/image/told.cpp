#include "api/image/told.h"

namespace hearth::api {
namespace {

// If so, an image is identified by the batch's seed and its index, else by its own seed.
bool one_generator_for_all(Compat compat) { return compat == Compat::diffusers || compat == Compat::comfyui; }

}  // namespace

Request told_request(const Request& asked, const models::ResolvedImage& resolved, std::optional<int64_t> tile) {
  Request told = resolved.request;
  told.negative_prompt = asked.negative_prompt.value_or("");
  for (size_t i = 0; i < resolved.embeddings.size(); ++i) told.embeddings[i].name = resolved.embeddings[i].name;
  if (!asked.edit.image) told.edit = {.depth_map_name = asked.edit.depth_map_name};
  const auto keep = [](const std::optional<Image>& given, std::optional<Image>& image) {
    if (given) image = Image();
  };
  keep(asked.edit.image, told.edit.image), keep(asked.edit.mask, told.edit.mask), keep(asked.edit.depth_map, told.edit.depth_map);
  if (asked.noise) told.noise = Array();
  told.vae_tiling = tile ? VaeTiling::on : VaeTiling::automatic, told.vae_tile = tile;
  return told;
}

Request told_of_image(Request told, int64_t index) {
  if (told.variation.strength > 0) told.variation.seed = *told.variation.seed + uint64_t(index);
  else if (!one_generator_for_all(told.compat)) told.seed = *told.seed + uint64_t(index);
  told.batch_index += index;
  return told;
}

}  // namespace hearth::api
