#include "models/diffusion/upscale.h"

#include <algorithm>
#include <array>

#include "core/on_host.h"
#include "ops/shape_ops.h"

namespace hearth::models::diffusion {
namespace {

constexpr std::array<Upscaler, 10> upscalers{{{"latent", true},
                                              {"latent-antialiased", true},
                                              {"latent-bicubic", true},
                                              {"latent-bicubic-antialiased", true},
                                              {"latent-nearest", true},
                                              {"latent-nearest-exact", true},
                                              {"nearest", false},
                                              {"bilinear", false},
                                              {"bicubic", false},
                                              {"lanczos", false}}};

Filter filter_named(std::string_view upscaler) {
  if (upscaler.ends_with("nearest") || upscaler.ends_with("nearest-exact")) return Filter::nearest;
  if (upscaler.find("bicubic") != upscaler.npos) return Filter::bicubic;
  return upscaler == "lanczos" ? Filter::lanczos : Filter::bilinear;
}

// From [H, W] to [height, width].
std::vector<float> larger(const std::vector<float>& x, int64_t H, int64_t W, int64_t height, int64_t width, std::string_view upscaler) {
  if (upscaler == "latent-bicubic") return interpolate_bicubic(x, W, H, width, height);
  return resize(x, W, H, width, height, filter_named(upscaler));
}

}  // namespace

const Upscaler& find_upscaler(std::string_view name) {
  const auto found = std::ranges::find(upscalers, name, &Upscaler::name);
  if (found != upscalers.end()) return *found;
  std::string known;
  for (const Upscaler& u : upscalers) known += (known.empty() ? "" : ", ") + std::string(u.name);
  fail<UsageError>("hires: upscaler '{}' is unknown, expected one of {}", name, known);
}

Tensor upscaled_latents(const Tensor& z, int64_t height, int64_t width, std::string_view upscaler) {
  const auto [B, H, W, C] = z.dims<4>();
  if (height < H || width < W)
    fail<ShapeError>("hires: latents {} upscaled to {}×{}, expected a size that is not smaller", z.shape(), height, width);
  if (upscaler == "latent-nearest") return ops::resize_nearest(z, height, width);
  const auto each_plane = [&, planes = B * C, from = H * W, to = height * width, h = H, w = W](float* y, const float* x) {
    for (int64_t i = 0; i < planes; ++i)
      std::ranges::copy(larger({x + i * from, x + (i + 1) * from}, h, w, height, width, upscaler), y + i * to);
  };
  return ops::to_channels_last(on_host({B, C, height, width}, each_plane, ops::to_channels_first(z)));
}

Pixels upscaled(const Pixels& image, int64_t width, int64_t height, std::string_view upscaler) {
  return resize(image, width, height, filter_named(upscaler));
}

Tensor resized_and_cropped(const Tensor& image, int64_t width, int64_t height) {
  const int64_t H = image.size(1), W = image.size(2), C = image.size(3);
  // The larger of both factors, as a fraction, so that neither side is a pixel short.
  const bool by_height = height * W >= width * H;
  const int64_t rows = by_height ? height : H * width / W, columns = by_height ? W * height / H : width;
  const int64_t top = (rows - height) / 2, left = (columns - width) / 2;
  const auto cropped = [&](float* y, const float* x) {
    const std::vector<float> whole = interpolate_bilinear({x, size_t(H * W * C)}, W, H, C, columns, rows);
    for (int64_t r = 0; r < height; ++r) std::copy_n(whole.data() + ((top + r) * columns + left) * C, width * C, y + r * width * C);
  };
  return on_host({1, height, width, C}, cropped, image);
}

}  // namespace hearth::models::diffusion
