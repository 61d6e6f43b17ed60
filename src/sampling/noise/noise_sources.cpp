#include "sampling/noise/noise_sources.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/on_host.h"
#include "ops/shape_ops.h"
#include "sampling/noise/brownian_tree.h"
#include "sampling/noise/counter_normals.h"
#include "sampling/noise/torch_generator.h"

namespace hearth::sampling {
namespace {

// [B, H, W, C] of values that `fill(k, out)` writes in the order of [C, H, W] for image k, or for the whole batch at once (k = 0) with a
// single generator.
template <class Fill> Tensor filled(Backend& device, const Shape& shape, Generators generators, Fill fill) {
  if (shape.rank() != 4) fail<ShapeError>("noise: shape is {}, expected [B, H, W, C]", shape);
  const Shape order{shape[0], shape[3], shape[1], shape[2]};
  return ops::to_channels_last(written_on_host(device, order, DType::f32, [&](Tensor& y) {
    const std::span values(y.data<float>(), size_t(y.numel()));
    const size_t parts = generators == Generators::one ? 1 : size_t(shape[0]), count = values.size() / parts;
    for (size_t k = 0; k < parts; ++k) fill(k, values.subspan(k * count, count));
  }));
}

Shape of_encoding(const Shape& shape, Generators generators) {
  return {generators == Generators::one ? 1 : shape[0], shape[1], shape[2], shape[3]};
}

// Spherical interpolation of one image [H, columns]: angles are taken between its columns.
void along_circle(float* y, const float* a, const float* z, int64_t H, int64_t columns, double strength) {
  std::vector<double> cosines(static_cast<size_t>(columns));
  double mean = 0;
  for (int64_t i = 0; i < columns; ++i) {
    double aa = 0, zz = 0, az = 0;
    for (int64_t h = 0; h < H; ++h) {
      const double p = a[h * columns + i], q = z[h * columns + i];
      aa += p * p, zz += q * q, az += p * q;
    }
    cosines[size_t(i)] = az / std::sqrt(aa * zz);
    mean += cosines[size_t(i)] / double(columns);
  }
  for (int64_t i = 0; i < columns; ++i) {
    double of_low = strength, of_high = 1 - strength;
    if (mean <= 0.9995) {
      const double angle = std::acos(std::clamp(cosines[size_t(i)], -1.0, 1.0)), sine = std::sin(angle);
      of_low = std::sin((1 - strength) * angle) / sine, of_high = std::sin(strength * angle) / sine;
    }
    for (int64_t h = 0; h < H; ++h) y[h * columns + i] = float(of_low * a[h * columns + i] + of_high * z[h * columns + i]);
  }
}

// The same for each image [H, W, C] by itself: the vectors are the columns of a channel.
Tensor along_circle(const Tensor& low, const Tensor& high, double strength) {
  const int64_t B = low.size(0), H = low.size(1), columns = low.size(2) * low.size(3);
  const auto each = [=](float* y, const float* a, const float* z) {
    for (int64_t b = 0; b < B; ++b) along_circle(y + b * H * columns, a + b * H * columns, z + b * H * columns, H, columns, strength);
  };
  return on_host(low.shape(), each, low, high);
}

// Generators that continue from draw to draw; an earlier draw restarts them.
class TorchDraws {
 public:
  TorchDraws(uint64_t seed, Generators generators, EncodingDraws encodings, uint64_t apart)
      : seed_(seed), apart_(apart), generators_(generators), encodings_(encodings) {}

  Tensor operator()(Backend& device, const Shape& shape, int64_t position) {
    if (position < next_) states_.clear(), next_ = 0;
    for (; next_ < position; ++next_) take(device, shape);
    Tensor taken = take(device, shape);
    ++next_;
    return taken;
  }

 private:
  Tensor take(Backend& device, const Shape& shape) {
    const Shape one = of_encoding(shape, generators_);
    for (int64_t i = 0; next_ == 0 && i < encodings_.before; ++i) draw(device, encodings_.for_batch(i) ? shape : one);
    Tensor taken = draw(device, shape);
    for (int64_t i = 0; next_ == 0 && i < encodings_.after; ++i) draw(device, one);
    return taken;
  }

  Tensor draw(Backend& device, const Shape& shape) {
    return filled(device, shape, generators_, [this](size_t k, std::span<float> out) {
      while (states_.size() <= k) states_.emplace_back(seed_ + apart_ * states_.size());
      states_[k].normal(out);
    });
  }

  uint64_t seed_, apart_;
  Generators generators_;
  EncodingDraws encodings_;
  std::vector<TorchGenerator> states_;
  int64_t next_ = 0;
};

}  // namespace

NoiseDraws torch_draws(uint64_t seed, Generators generators, EncodingDraws encodings, uint64_t apart) {
  return TorchDraws(seed, generators, encodings, apart);
}

Tensor torch_encoding_draw(uint64_t seed, Generators generators, EncodingDraws encodings, Backend& device, const Shape& shape,
                           int64_t number, bool skips_first, uint64_t apart) {
  TorchDraws draws(seed, generators, {}, apart);
  const Shape one = of_encoding(shape, generators);
  int64_t position = 0;
  Tensor drawn;
  for (int64_t i = 0; i <= number; ++i) {
    if (i == encodings.before && !skips_first) draws(device, shape, position++);
    drawn = draws(device, encodings.for_batch(i) ? shape : one, position++);
  }
  return drawn;
}

NoiseDraws torch_indexed_draws(uint64_t seed, int64_t first_image) {
  return [=](Backend& device, const Shape& shape, int64_t position) {
    if (position != 0) fail<UsageError>("noise: noise by batch index has only draw 0, draw {} was requested", position);
    TorchGenerator generator(seed);
    bool skipped = false;
    return filled(device, shape, Generators::per_image, [&](size_t, std::span<float> out) {
      for (int64_t k = 0; k < first_image && !skipped; ++k) generator.normal(out);
      skipped = true;
      generator.normal(out);
    });
  };
}

NoiseDraws nv_draws(uint64_t seed, uint64_t apart) {
  return [=](Backend& device, const Shape& shape, int64_t position) {
    return filled(device, shape, Generators::per_image,
                  [&](size_t k, std::span<float> out) { nv_normals(seed + apart * k, uint32_t(position), out); });
  };
}

NoiseDraws counter_draws(uint64_t seed) {
  return [=](Backend& device, const Shape& shape, int64_t position) {
    return filled(device, shape, Generators::per_image, [&](size_t k, std::span<float> out) {
      counter_normals(seed + k, {uint32_t(position), uint32_t(uint64_t(position) >> 32), Stream::draws}, out);
    });
  };
}

NoiseDraws first_then(NoiseDraws first, NoiseDraws rest) {
  return [first = std::move(first), rest = std::move(rest)](Backend& device, const Shape& shape, int64_t position) {
    return position == 0 ? first(device, shape, 0) : rest(device, shape, position - 1);
  };
}

NoiseDraws varied_draws(NoiseDraws from, NoiseDraws to, double strength) {
  return [from = std::move(from), to = std::move(to), strength](Backend& device, const Shape& shape, int64_t position) {
    const Tensor low = from(device, shape, position);
    return position == 0 ? along_circle(low, to(device, shape, 0), strength) : low;
  };
}

NoiseDraws first_replaced(NoiseDraws first, NoiseDraws draws) {
  return [first = std::move(first), draws = std::move(draws)](Backend& device, const Shape& shape, int64_t position) {
    return position == 0 ? first(device, shape, 0) : draws(device, shape, position);
  };
}

NoiseDraws given_draw(const Tensor& given) {
  return [given](Backend&, const Shape& shape, int64_t) {
    if (given.rank() != 4 || shape != Shape{given.size(0), given.size(2), given.size(3), given.size(1)})
      fail<ShapeError>("noise: the given noise has shape {}, expected {}", given.shape(), Shape{shape[0], shape[3], shape[1], shape[2]});
    return ops::to_channels_last(given);
  };
}

NoiseIncrements octave_increments(uint64_t seed, uint64_t apart) {
  return [seed, apart, paths = std::vector<OctavePath>()](Backend& device, const Shape& shape, double from, double to) mutable {
    return filled(device, shape, Generators::per_image, [&](size_t k, std::span<float> out) {
      while (paths.size() <= k) paths.emplace_back(seed + apart * paths.size(), out.size());
      paths[k].between(from, to, out);
    });
  };
}

NoiseIncrements torchsde_increments(uint64_t seed, Generators generators, double low, double high, uint64_t apart, Rng rng) {
  const SeededNormals normals = rng == Rng::nv ? nv_first_normals : torch_normals;
  return [=, paths = std::vector<TorchsdePath>()](Backend& device, const Shape& shape, double from, double to) mutable {
    return filled(device, shape, generators, [&](size_t k, std::span<float> out) {
      while (paths.size() <= k) paths.emplace_back(seed + apart * paths.size(), low, high, out.size(), normals);
      paths[k].between(from, to, out);
    });
  };
}

}  // namespace hearth::sampling
