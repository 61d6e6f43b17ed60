#include "api/image/used_request.h"

namespace hearth::api {
namespace {

// If so, an image is identified by the batch's seed and its index, else by its own seed.
bool one_generator_for_all(Compat compat) { return compat == Compat::diffusers || compat == Compat::comfyui; }

}  // namespace

Request used_request(const Request& requested, const models::ResolvedImage& resolved, std::optional<int64_t> tile) {
  Request used = resolved.request;
  used.prompt = requested.prompt, used.loras = requested.loras;  // with <lora:…>
  used.negative_prompt = requested.negative_prompt.value_or("");
  for (size_t i = 0; i < resolved.embeddings.size(); ++i) used.embeddings[i].name = resolved.embeddings[i].name;
  if (!requested.edit.image)
    used.edit = {.depth_map_name = requested.edit.depth_map_name, .control_image_name = requested.edit.control_image_name};
  const auto keep = [](const std::optional<Image>& given, std::optional<Image>& image) {
    if (given) image = Image();
  };
  keep(requested.edit.image, used.edit.image), keep(requested.edit.mask, used.edit.mask),
      keep(requested.edit.depth_map, used.edit.depth_map), keep(requested.edit.control_image, used.edit.control_image);
  if (requested.noise) used.noise = Array();
  used.vae_tiling = tile ? VaeTiling::on : VaeTiling::automatic, used.vae_tile = tile;
  return used;
}

Request used_by_image(Request used, int64_t index) {
  if (used.variation.strength > 0) used.variation.seed = *used.variation.seed + uint64_t(index);
  else if (!one_generator_for_all(used.compat)) used.seed = *used.seed + uint64_t(index);
  used.batch_index += index;
  return used;
}

}  // namespace hearth::api
