// Published schedules of ten steps (and of 31), optimized for one family of models. Each ends at the model's smallest σ.
//   Align Your Steps: Sabour, Fidler & Kreis 2024 (arXiv 2404.14507) and its release; A1111 and Forge use the longer tables
//   GITS: Chen et al. 2024 (arXiv 2405.11326); the tables by steps and coefficient are those of its release for Stable Diffusion 1.5
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace hearth::sampling {

std::span<const double> ays_sd15();  // 11 values, largest first
std::span<const double> ays_sdxl();
std::span<const double> ays_a1111_sd15();  // as rounded by A1111
std::span<const double> ays_a1111_sdxl();
std::span<const double> ays_svd();
std::span<const double> ays_32_sd15();  // 32 values
std::span<const double> ays_32_sdxl();
std::span<const double> gits_sd15();  // 11 values
std::span<const double> gits_sdxl();
// The table of n steps, n + 1 values; n is clamped to 2 … 20. UsageError unless the coefficient is 0.8, 0.85 … 1.5.
std::vector<double> gits_sd15_levels(double coefficient, int64_t n);

}  // namespace hearth::sampling
