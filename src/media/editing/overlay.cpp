#include "media/editing/overlay.h"

#include <array>

#include "core/error.h"
#include "media/editing/fit.h"
#include "media/editing/mask.h"

namespace hearth {
namespace {

// Four planes, so that each can be blurred separately.
using Planes = std::array<PixelMask, 4>;  // red, green, blue, opacity

uint32_t over_255(uint32_t x) { return ((x >> 8) + x) >> 8; }  // of x + 128: x/255, rounded

void check(const Pixels& image, const PixelMask& mask) {
  if (image.width != mask.width || image.height != mask.height)
    fail<ShapeError>("overlay: a mask of {} × {} on an image of {} × {}", mask.width, mask.height, image.width, image.height);
}

// The image where the mask is 0, fading to transparent where it is 255; colors are premultiplied by opacity.
Planes known_part(const Pixels& image, const PixelMask& mask) {
  Planes planes;
  planes.fill({.width = image.width, .height = image.height, .values = std::vector<uint8_t>(mask.values.size())});
  for (size_t i = 0; i < mask.values.size(); ++i) {
    const uint32_t keep = 255u - mask.values[i];
    for (size_t c = 0; c < 3; ++c) planes[c].values[i] = uint8_t(over_255(image.rgb[3 * i + c] * keep + 128));
    planes[3].values[i] = uint8_t(keep);
  }
  return planes;
}

struct Color {
  std::array<uint32_t, 3> rgb;
  uint32_t alpha;
};

// Divides the colors by the opacity.
Color straight(const Planes& planes, size_t i) {
  Color c{{planes[0].values[i], planes[1].values[i], planes[2].values[i]}, planes[3].values[i]};
  if (c.alpha == 0 || c.alpha == 255) return c;
  for (uint32_t& v : c.rgb) v = std::min(255u, 255 * v / c.alpha);
  return c;
}

// `above` over `below`, with seven more bits than the result.
Color over(const Color& above, const Color& below) {
  if (above.alpha == 0) return below;
  constexpr uint32_t bits = 7;
  const uint32_t opacity = above.alpha * 255 + below.alpha * (255 - above.alpha);  // times 255
  const uint32_t share = above.alpha * 255 * 255 * (1u << bits) / opacity, rest = 255 * (1u << bits) - share;
  Color out;
  for (size_t c = 0; c < 3; ++c) out.rgb[c] = over_255(above.rgb[c] * share + below.rgb[c] * rest + (0x80u << bits)) >> bits;
  out.alpha = over_255(opacity + 0x80);
  return out;
}

}  // namespace

Pixels pasted(const Pixels& generated, const Pixels& original, const PixelMask& mask) {
  check(generated, mask);
  check(original, mask);
  const Planes known = known_part(original, mask);
  Pixels out = generated;
  for (size_t i = 0; i < mask.values.size(); ++i) {
    const uint8_t* p = &generated.rgb[3 * i];
    const Color c = over(straight(known, i), {{p[0], p[1], p[2]}, 255});
    for (size_t k = 0; k < 3; ++k) out.rgb[3 * i + k] = uint8_t(c.rgb[k]);
  }
  return out;
}

Pixels pasted(const Pixels& generated, const Pixels& original, const PixelMask& mask, const Region& region) {
  check(original, mask);
  const Pixels part = fitted(generated, region.width(), region.height(), Fit::crop);
  const Planes known = known_part(original, mask);
  Pixels out = original;
  for (int64_t y = 0; y < original.height; ++y)
    for (int64_t x = 0; x < original.width; ++x) {
      const auto i = size_t(y * original.width + x);
      Color below{{0, 0, 0}, 0};
      if (x >= region.left && x < region.right && y >= region.top && y < region.bottom) {
        const uint8_t* p = &part.rgb[size_t(((y - region.top) * part.width + x - region.left) * 3)];
        below = {{p[0], p[1], p[2]}, 255};
      }
      const Color c = over(straight(known, i), below);
      for (size_t k = 0; k < 3; ++k) out.rgb[3 * i + k] = uint8_t(c.rgb[k]);
    }
  return out;
}

Pixels filled_from_around(const Pixels& image, const PixelMask& mask) {
  check(image, mask);
  struct Layer {
    double radius;
    int times;
  };
  constexpr Layer layers[] = {{256, 1}, {64, 1}, {16, 2}, {4, 4}, {2, 2}, {0, 1}};
  const Planes known = known_part(image, mask);
  std::vector<Color> canvas(mask.values.size(), Color{{0, 0, 0}, 0});
  for (const auto& [radius, times] : layers) {
    Planes blurred;
    for (size_t c = 0; c < 4; ++c) blurred[c] = gaussian_blur(known[c], radius);
    for (size_t i = 0; i < canvas.size(); ++i) {
      const Color layer = straight(blurred, i);
      for (int n = 0; n < times; ++n) canvas[i] = over(layer, canvas[i]);
    }
  }
  Pixels out = image;
  for (size_t i = 0; i < canvas.size(); ++i)
    for (size_t k = 0; k < 3; ++k) out.rgb[3 * i + k] = uint8_t(canvas[i].rgb[k]);
  return out;
}

}  // namespace hearth
