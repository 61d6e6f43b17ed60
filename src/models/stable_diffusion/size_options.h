// Options of families whose UNet is conditioned on the image's size besides the text (Podell et al. 2023, arXiv 2307.01952, §2.2).
#pragma once

#include <array>
#include <optional>

#include "models/option.h"

namespace hearth::models::stable_diffusion {

using Pair = std::array<int64_t, 2>;  // width and height, or x and y, in pixels

constexpr Option size_option(std::string_view name, Option::Type type, std::string_view summary, std::string_view standard) {
  return {.name = name, .type = type, .summary = summary, .standard = standard, .least = 0, .most = 1 << 20, .group = "size_conditions"};
}

inline constexpr Option original_size = size_option(
    "original_size", Option::Type::size, "Original size that the model is conditioned on; larger gives sharper images", "the image's");
inline constexpr Option crop =
    size_option("crop", Option::Type::point, "Top left corner of the crop that the model is conditioned on", "0,0");
inline constexpr Option target_size =
    size_option("target_size", Option::Type::size, "Target size that the model is conditioned on", "the image's");
inline constexpr Option negative_original_size =
    size_option("negative_original_size", Option::Type::size, "--original-size of the negative prompt; requires --negative-target-size",
                "--original-size");
inline constexpr Option negative_crop =
    size_option("negative_crop", Option::Type::point, "--crop of the negative prompt", "--crop; 0,0 with a negative size");
inline constexpr Option negative_target_size =
    size_option("negative_target_size", Option::Type::size, "--target-size of the negative prompt", "--target-size");

}  // namespace hearth::models::stable_diffusion
