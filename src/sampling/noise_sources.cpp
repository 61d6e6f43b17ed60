#include "sampling/noise_sources.h"

#include <memory>
#include <vector>

#include "ops/shape_ops.h"
#include "sampling/brownian_tree.h"
#include "sampling/counter_normals.h"
#include "sampling/torch_generator.h"

namespace hearth::sampling {
namespace {

// [B, H, W, C] of values that `fill(k, out)` gives in the order of [C, H, W] for image k; of the whole batch at once (k = 0) with one
// generator for all.
template <class Fill> Tensor filled(Backend& device, const Shape& shape, Generators generators, Fill fill) {
  if (shape.rank() != 4) fail<ShapeError>("noise: shape {}, needed [B, H, W, C]", shape);
  const Shape order{shape[0], shape[3], shape[1], shape[2]};
  if (!device.computes()) return ops::to_channels_last(Tensor::empty(device, order));
  std::vector<float> values(size_t(shape.numel()));
  const size_t parts = generators == Generators::one ? 1 : size_t(shape[0]), count = values.size() / parts;
  for (size_t k = 0; k < parts; ++k) fill(k, std::span(values).subspan(k * count, count));
  return ops::to_channels_last(Tensor::from(device, order, values));
}

// Generators that go on from draw to draw; a draw further back begins anew.
class TorchDraws {
 public:
  TorchDraws(uint64_t seed, Generators generators) : seed_(seed), generators_(generators) {}

  Tensor operator()(Backend& device, const Shape& shape, int64_t position) {
    if (position < next_) states_.clear(), next_ = 0;
    for (; next_ < position; ++next_) draw(device, shape);
    ++next_;
    return draw(device, shape);
  }

 private:
  Tensor draw(Backend& device, const Shape& shape) {
    return filled(device, shape, generators_, [this](size_t k, std::span<float> out) {
      while (states_.size() <= k) states_.emplace_back(seed_ + states_.size());
      states_[k].normal(out);
    });
  }

  uint64_t seed_;
  Generators generators_;
  std::vector<TorchGenerator> states_;
  int64_t next_ = 0;
};

}  // namespace

NoiseDraws torch_draws(uint64_t seed, Generators generators) { return TorchDraws(seed, generators); }

NoiseDraws torch_indexed_draws(uint64_t seed, int64_t first_image) {
  return [=](Backend& device, const Shape& shape, int64_t position) {
    if (position != 0) fail<UsageError>("noise: noise by batch index has one draw only, number {} asked for", position);
    TorchGenerator generator(seed);
    bool skipped = false;
    return filled(device, shape, Generators::per_image, [&](size_t, std::span<float> out) {
      for (int64_t k = 0; k < first_image && !skipped; ++k) generator.normal(out);
      skipped = true;
      generator.normal(out);
    });
  };
}

NoiseDraws nv_draws(uint64_t seed) {
  return [=](Backend& device, const Shape& shape, int64_t position) {
    return filled(device, shape, Generators::per_image,
                  [&](size_t k, std::span<float> out) { nv_normals(seed + k, uint32_t(position), out); });
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

NoiseDraws first_replaced(NoiseDraws first, NoiseDraws draws) {
  return [first = std::move(first), draws = std::move(draws)](Backend& device, const Shape& shape, int64_t position) {
    return position == 0 ? first(device, shape, 0) : draws(device, shape, position);
  };
}

NoiseDraws given_draw(const Tensor& given) {
  return [given](Backend&, const Shape& shape, int64_t) {
    if (given.rank() != 4 || shape != Shape{given.size(0), given.size(2), given.size(3), given.size(1)})
      fail<ShapeError>("noise: the given noise is {}, needed {}", given.shape(), Shape{shape[0], shape[3], shape[1], shape[2]});
    return ops::to_channels_last(given);
  };
}

NoiseIncrements octave_increments(uint64_t seed) {
  return [seed, paths = std::vector<OctavePath>()](Backend& device, const Shape& shape, double from, double to) mutable {
    return filled(device, shape, Generators::per_image, [&](size_t k, std::span<float> out) {
      while (paths.size() <= k) paths.emplace_back(seed + paths.size(), out.size());
      paths[k].between(from, to, out);
    });
  };
}

NoiseIncrements torchsde_increments(uint64_t seed, Generators generators, double low, double high) {
  return [=, paths = std::vector<TorchsdePath>()](Backend& device, const Shape& shape, double from, double to) mutable {
    return filled(device, shape, generators, [&](size_t k, std::span<float> out) {
      while (paths.size() <= k) paths.emplace_back(seed + paths.size(), low, high, out.size());
      paths[k].between(from, to, out);
    });
  };
}

}  // namespace hearth::sampling
