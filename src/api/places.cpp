#include "api/places.h"

#include "api/assets.h"

namespace hearth::api {

CheckpointPlaces places_of(const std::filesystem::path& path, const OpenOptions& options) {
  CheckpointPlaces places{.config = options.config, .averaged = options.ema};
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) places.assets = assets_folder();
  const std::pair<const char*, const std::filesystem::path*> all[] = {
      {"unet", &options.unet}, {"vae", &options.vae}, {"text_encoder", &options.text_encoder}, {"text_encoder_2", &options.text_encoder_2}};
  for (const auto& [name, place] : all)
    if (!place->empty()) places.components[name] = *place;
  return places;
}

}  // namespace hearth::api
