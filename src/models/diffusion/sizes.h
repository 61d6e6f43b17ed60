// The sizes in which models with sizes of their own make images (ASPECT_RATIO_…_BIN of the reference's pipelines), for Facts::size_of_run.
#pragma once

#include <array>
#include <cstdint>

namespace hearth::models::diffusion {

using SizeOfRun = std::array<int64_t, 2> (*)(int64_t height, int64_t width);

// [height, width] of the size whose ratio is nearest to height / width, the first of two that are equally near; for models for about 256,
// 512, 1024, 2048 or 4096 pixels each way. nullptr for other models.
SizeOfRun size_of_run(int64_t side);

}  // namespace hearth::models::diffusion
