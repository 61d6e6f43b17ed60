// Names of A1111's API for what hearth has.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/fields.h"

namespace hearth::server {

// Items of /sdapi/v1/samplers, schedulers, upscalers and latent-upscale-modes.
Json a1111_samplers();  // those that A1111 or Forge have
Json a1111_schedulers();
Json a1111_upscalers();  // of hires fix
Json a1111_latent_upscale_modes();

// Its name or label, in any case: "Karras" → "karras"; "" and "Automatic" → "". nullopt for an unknown one.
std::optional<std::string> schedule_of_a1111(std::string_view name);
// Hires::upscaler: "Latent (bicubic)" → "latent-bicubic". nullopt for an unknown one.
std::optional<std::string> upscaler_of_a1111(std::string_view name);
std::vector<std::string_view> a1111_upscaler_names();

}  // namespace hearth::server
