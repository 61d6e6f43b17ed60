// Published step tables of models trained at 1024 × 1024 pixels.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace hearth::models::stable_diffusion {

// A1111's names, which select the tables made for these models.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 5> large_image_tables{
    {{"ays", "ays_sdxl"}, {"ays_11", "ays_sdxl"}, {"ays_32", "ays_32_sdxl"}, {"gits", "gits_sdxl"}, {"gits_a1111", "gits_sdxl"}}};

}  // namespace hearth::models::stable_diffusion
