// The sizes in which the models make images (map_to_standard_shapes of the reference's pipeline).
#pragma once

#include <array>
#include <cstdint>

namespace hearth::models::hunyuan_dit {

// [height, width] as they are, if the models were trained on it; else the size of the nearest ratio and then of the nearest area. Sides are
// first rounded down to multiples of 16.
std::array<int64_t, 2> size_of_run(int64_t height, int64_t width);

}  // namespace hearth::models::hunyuan_dit
