#include "models/diffusion/preview.h"

#include <algorithm>
#include <cmath>

#include "core/on_host.h"
#include "media/editing/resample.h"
#include "sampling/noise/noise_sources.h"
#include "sampling/steps/linear_system.h"

namespace hearth::models::diffusion {
namespace {

constexpr int64_t side = 24, coarse = 4;  // latent pixels; of one color of the coarse pattern

// Patches of all colors with finer ones on them: one pixel per latent.
Pixels pattern(Backend& host) {
  const sampling::NoiseDraws draws = sampling::counter_draws(0);
  const Tensor patches = draws(host, {1, side / coarse, side / coarse, 3}, 0), fine = draws(host, {1, side, side, 3}, 1);
  Pixels small{.width = side, .height = side, .rgb = {}};
  for (int64_t y = 0; y < side; ++y)
    for (int64_t x = 0; x < side; ++x)
      for (int64_t c = 0; c < 3; ++c) {
        const float patch = patches.data<float>()[(y / coarse * (side / coarse) + x / coarse) * 3 + c];
        const float value = 128 + 80 * patch + 20 * fine.data<float>()[(y * side + x) * 3 + c];
        small.rgb.push_back(uint8_t(std::clamp(value, 0.0f, 255.0f)));
      }
  return small;
}

// The affine map from C latent values of a pixel to its color, by least squares.
LatentColors fit(const std::vector<float>& z, const std::vector<float>& wanted, size_t C) {
  const size_t n = C + 1;
  std::vector<std::vector<double>> normal(n, std::vector<double>(n)), right(3, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) normal[i][i] = 1e-6;  // regularizes values that no color depends on
  std::vector<double> values(n, 1);
  for (size_t pixel = 0; pixel < size_t(side * side); ++pixel) {
    for (size_t c = 0; c < C; ++c) values[c] = double(z[pixel * C + c]);
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < n; ++k) normal[i][k] += values[i] * values[k];
      for (size_t rgb = 0; rgb < 3; ++rgb) right[rgb][i] += values[i] * double(wanted[3 * pixel + rgb]);
    }
  }
  LatentColors colors{.matrix = std::vector<double>(3 * n)};
  for (size_t rgb = 0; rgb < 3; ++rgb) {
    const std::vector<double> solution = sampling::solved(normal, right[rgb]);
    for (size_t i = 0; i < n; ++i) colors.matrix[3 * i + rgb] = solution[i];
  }
  return colors;
}

}  // namespace

LatentColors fit_colors(const HostedCodec& codec, Backend& host) {
  const int64_t C = codec.config.latent_channels, f = codec.config.factor;
  const Pixels image = unless_dry(host, Pixels(), [&] { return resize(pattern(host), f * side, f * side, Filter::bilinear); });
  const Tensor pixels = written_on_host(host, {1, f * side, f * side, 3}, DType::f32, [&](Tensor& y) {
    std::ranges::copy(to_floats(image, PixelRange::minus_one_to_one), y.data<float>());
  });
  const Tensor latents = codec.to_model(codec.encode(pixels).mode());
  return unless_dry(host, LatentColors{std::vector<double>(size_t(3 * (C + 1)))}, [&] {
    return fit(latents.to_vector(), to_floats(resize(image, side, side, Filter::box), PixelRange::minus_one_to_one), size_t(C));
  });
}

Pixels preview_of(const Tensor& x0, const LatentColors& colors, int64_t factor) {
  const auto [B, h, w, C] = x0.dims<4>();
  const std::vector<float> z = x0.to_vector();
  Pixels small{.width = w, .height = h, .rgb = std::vector<uint8_t>(size_t(3 * h * w))};
  for (int64_t i = 0; i < h * w; ++i)
    for (int64_t rgb = 0; rgb < 3; ++rgb) {
      double v = colors.matrix[size_t(3 * C + rgb)];
      for (int64_t c = 0; c < C; ++c) v += colors.matrix[size_t(3 * c + rgb)] * double(z[size_t(i * C + c)]);
      small.rgb[size_t(3 * i + rgb)] = uint8_t(std::nearbyint(std::clamp(v * 0.5 + 0.5, 0.0, 1.0) * 255));
    }
  return resize(small, factor * w, factor * h, Filter::bilinear);
}

PreviewDecoder::PreviewDecoder(const Scope& w, const parts::AutoencoderTinyConfig& c) : config(c), decoder(w / "decoder", c) {}

Tensor PreviewDecoder::operator()(const Tensor& x0) const {
  const Tensor image = decoder(parts::raw_latents(x0, config));
  return image.view({image.size(1), image.size(2), image.size(3)});
}

void check_preview(const parts::AutoencoderTinyConfig& decoder, const CodecConfig& codec, const std::string& where) {
  if (decoder.latent_channels != codec.latent_channels || decoder.factor() != codec.factor || decoder.out_channels != 3)
    fail<WeightError>(
        "{}: decodes latents of {} channels to images of {} channels and {} times the size, expected {}, 3 and {} as for the model", where,
        decoder.latent_channels, decoder.out_channels, decoder.factor(), codec.latent_channels, codec.factor);
}

}  // namespace hearth::models::diffusion
