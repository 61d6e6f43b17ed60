// Published noise levels of ten steps (and of 31), found by optimisation for one family of models. Each ends at the model's least σ.
//   Align Your Steps: Sabour, Fidler & Kreis 2024 (arXiv 2404.14507) and its release; A1111 and Forge know the longer tables
//   GITS: Chen et al. 2024 (arXiv 2405.11326)
#pragma once

#include <span>

namespace hearth::sampling {

std::span<const double> ays_sd15();  // 11 values, largest first
std::span<const double> ays_sdxl();
std::span<const double> ays_svd();
std::span<const double> ays_32_sd15();  // 32 values
std::span<const double> ays_32_sdxl();
std::span<const double> gits_sd15();  // 11 values
std::span<const double> gits_sdxl();

}  // namespace hearth::sampling
