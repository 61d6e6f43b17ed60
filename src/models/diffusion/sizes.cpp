#include "models/diffusion/sizes.h"

#include <algorithm>
#include <cmath>

namespace hearth::models::diffusion {
namespace {

// A size, and the ratio height / width for which it is chosen.
struct SizeOfRatio {
  double ratio = 1;
  int64_t height = 0, width = 0;
};

constexpr std::array<SizeOfRatio, 33> around_1024{{
    {0.25, 512, 2048}, {0.28, 512, 1856}, {0.32, 576, 1792}, {0.33, 576, 1728}, {0.35, 576, 1664}, {0.4, 640, 1600},  {0.42, 640, 1536},
    {0.48, 704, 1472}, {0.5, 704, 1408},  {0.52, 704, 1344}, {0.57, 768, 1344}, {0.6, 768, 1280},  {0.68, 832, 1216}, {0.72, 832, 1152},
    {0.78, 896, 1152}, {0.82, 896, 1088}, {0.88, 960, 1088}, {0.94, 960, 1024}, {1.0, 1024, 1024}, {1.07, 1024, 960}, {1.13, 1088, 960},
    {1.21, 1088, 896}, {1.29, 1152, 896}, {1.38, 1152, 832}, {1.46, 1216, 832}, {1.67, 1280, 768}, {1.75, 1344, 768}, {2.0, 1408, 704},
    {2.09, 1472, 704}, {2.4, 1536, 640},  {2.5, 1600, 640},  {3.0, 1728, 576},  {4.0, 2048, 512},
}};
constexpr std::array<SizeOfRatio, 40> around_2048{{
    {0.25, 1024, 4096}, {0.26, 1024, 3968}, {0.27, 1024, 3840}, {0.28, 1024, 3712}, {0.32, 1152, 3584}, {0.33, 1152, 3456},
    {0.35, 1152, 3328}, {0.4, 1280, 3200},  {0.42, 1280, 3072}, {0.48, 1408, 2944}, {0.5, 1408, 2816},  {0.52, 1408, 2688},
    {0.57, 1536, 2688}, {0.6, 1536, 2560},  {0.68, 1664, 2432}, {0.72, 1664, 2304}, {0.78, 1792, 2304}, {0.82, 1792, 2176},
    {0.88, 1920, 2176}, {0.94, 1920, 2048}, {1.0, 2048, 2048},  {1.07, 2048, 1920}, {1.13, 2176, 1920}, {1.21, 2176, 1792},
    {1.29, 2304, 1792}, {1.38, 2304, 1664}, {1.46, 2432, 1664}, {1.67, 2560, 1536}, {1.75, 2688, 1536}, {2.0, 2816, 1408},
    {2.09, 2944, 1408}, {2.4, 3072, 1280},  {2.5, 3200, 1280},  {2.89, 3328, 1152}, {3.0, 3456, 1152},  {3.11, 3584, 1152},
    {3.62, 3712, 1024}, {3.75, 3840, 1024}, {3.88, 3968, 1024}, {4.0, 4096, 1024},
}};

// The same ratios with other sides.
template <size_t n> constexpr std::array<SizeOfRatio, n> scaled(std::array<SizeOfRatio, n> sizes, int64_t times, int64_t by) {
  for (SizeOfRatio& s : sizes) s.height = s.height * times / by, s.width = s.width * times / by;
  return sizes;
}
constexpr auto around_512 = scaled(around_1024, 1, 2), around_256 = scaled(around_1024, 1, 4);
constexpr auto around_4096 = scaled(around_2048, 2, 1);

template <const auto& sizes> std::array<int64_t, 2> nearest(int64_t height, int64_t width) {
  const double ratio = double(height) / double(width);
  const SizeOfRatio& size = *std::ranges::min_element(sizes, {}, [&](const SizeOfRatio& s) { return std::abs(s.ratio - ratio); });
  return {size.height, size.width};
}

}  // namespace

SizeOfRun size_of_run(int64_t side) {
  switch (side) {
    case 256: return nearest<around_256>;
    case 512: return nearest<around_512>;
    case 1024: return nearest<around_1024>;
    case 2048: return nearest<around_2048>;
    case 4096: return nearest<around_4096>;
  }
  return nullptr;
}

}  // namespace hearth::models::diffusion
