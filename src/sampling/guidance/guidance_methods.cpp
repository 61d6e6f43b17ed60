#include "sampling/guidance/guidance_methods.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "core/on_host.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"

namespace hearth::sampling {
namespace {

std::span<const float> image(const Tensor& x, int64_t b) {
  const size_t count = size_t(x.numel() / x.size(0));
  return std::span(x.data<const float>() + size_t(b) * count, count);
}

double dot(const Tensor& a, const Tensor& b, int64_t k) {
  const auto u = image(a, k), v = image(b, k);
  double sum = 0;
  for (size_t i = 0; i < u.size(); ++i) sum += double(u[i]) * double(v[i]);
  return sum;
}

double norm(const Tensor& x, int64_t k) { return std::sqrt(dot(x, x, k)); }

double deviation(const Tensor& x, int64_t k) {
  const auto v = image(x, k);
  double mean = 0, squares = 0;
  for (const float f : v) mean += f;
  mean /= double(v.size());
  for (const float f : v) squares += (f - mean) * (f - mean);
  return std::sqrt(squares / double(v.size() - 1));
}

using Factors = std::vector<double>;

// Σ factorᵢ(k)·xᵢ for each image k: `factors(k)` returns one factor per tensor.
template <class F> Tensor by_image(std::initializer_list<Tensor> xs, F factors) {
  const Tensor& first = *xs.begin();
  std::vector<Tensor> images;
  for (int64_t k = 0; k < first.size(0); ++k) {
    std::vector<Tensor> parts;
    for (const Tensor& x : xs) parts.push_back(x.slice(0, k, k + 1));
    std::vector<float> f;
    for (const double factor : unless_dry(first.backend(), Factors(xs.size()), [&] { return factors(k); })) f.push_back(float(factor));
    images.push_back(ops::linear_combination(parts, f));
  }
  return images.size() == 1 ? images.front() : ops::concat(images, 0);
}

}  // namespace

Tensor classifier_free(const Tensor& negative, const Tensor& prompt, double scale) {
  return ops::linear_combination({negative, ops::linear_combination({prompt, negative}, {1, -1})}, {1, float(scale)});
}

Tensor rescaled(const Tensor& guided, const Tensor& prompt, double phi) {
  return by_image({guided}, [&](int64_t k) {
    const double own = deviation(guided, k);
    return Factors{own > 0 ? phi * deviation(prompt, k) / own + (1 - phi) : 1};
  });
}

Tensor scaled_towards(const Tensor& negative, const Tensor& prompt) {
  return by_image({negative}, [&](int64_t k) { return Factors{dot(prompt, negative, k) / (dot(negative, negative, k) + 1e-8)}; });
}

Tensor projected_difference(const Tensor& negative, const Tensor& prompt, Tensor& running, double momentum, double threshold, double eta) {
  Tensor difference = ops::linear_combination({prompt, negative}, {1, -1});
  if (momentum != 0) {
    if (running) difference = ops::linear_combination({difference, running}, {1, float(momentum)});
    running = difference;
  }
  return by_image({difference, prompt}, [&](int64_t k) {
    const double limit = threshold > 0 ? std::min(1.0, threshold / norm(difference, k)) : 1.0;
    const double along = dot(difference, prompt, k) / std::max(dot(prompt, prompt, k), 1e-24);
    return Factors{limit, limit * (eta - 1) * along};
  });
}

Tensor with_norms_of(const Tensor& guided, const Tensor& prompt, int64_t patch) {
  const auto [B, H, W, C] = guided.dims<4>();
  if (patch < 1 || H % patch != 0 || W % patch != 0)
    fail<ShapeError>("guidance: norms of {0}×{0} pixels of {1}, expected sides that are multiples of it", patch, guided.shape());
  const auto each_patch = [=, B = B, H = H, W = W, C = C](float* y, const float* g, const float* p) {
    const auto rows = [&](int64_t first, auto use) {
      for (int64_t r = 0; r < patch; ++r)
        for (int64_t i = 0; i < patch * C; ++i) use(size_t(first + r * W * C + i));
    };
    for (int64_t row = 0; row < B * H; row += patch)
      for (int64_t column = 0; column < W; column += patch) {
        const int64_t first = (row * W + column) * C;
        double guided_squares = 0, prompt_squares = 0;
        rows(first, [&](size_t i) { guided_squares += double(g[i]) * g[i], prompt_squares += double(p[i]) * p[i]; });
        const float factor = guided_squares > 0 ? float(std::sqrt(prompt_squares / guided_squares)) : 0;
        rows(first, [&](size_t i) { y[i] = g[i] * factor; });
      }
  };
  return on_host(guided.shape(), each_patch, guided, prompt);
}

Tensor with_norm_at_most(const Tensor& guided, const Tensor& prompt, double most) {
  return by_image({guided}, [&](int64_t k) {
    const double limit = most * norm(prompt, k), own = norm(guided, k);
    return Factors{own > limit ? limit / own : 1};
  });
}

Tensor tangential(const Tensor& negative, const Tensor& prompt) {
  // With the rows (prompt, negative) as M, the first right singular vector is Mᵀw/√λ, where w is the first eigenvector of M·Mᵀ, a
  // 2×2 matrix, and λ its eigenvalue.
  return by_image({prompt, negative}, [&](int64_t k) {
    const double pp = dot(prompt, prompt, k), pn = dot(prompt, negative, k), nn = dot(negative, negative, k);
    const double angle = 0.5 * std::atan2(2 * pn, pp - nn), w0 = std::cos(angle), w1 = std::sin(angle);
    const double eigenvalue = w0 * (w0 * pp + w1 * pn) + w1 * (w0 * pn + w1 * nn);
    const double along = eigenvalue > 0 ? (w0 * pn + w1 * nn) / eigenvalue : 0;
    return Factors{along * w0, along * w1};
  });
}

Tensor magnitude_aware(const Tensor& negative, const Tensor& prompt, double scale, double alpha) {
  const Tensor difference = ops::linear_combination({prompt, negative}, {1, -1});
  return by_image({negative, difference}, [&](int64_t k) {
    return Factors{1, 1 + (scale - 1) * std::exp(-alpha * norm(difference, k) / norm(negative, k))};
  });
}

Tensor dual(const Tensor& nothing, const Tensor& with_image, const Tensor& prompt, double image_scale, double prompt_scale) {
  const Tensor by_image = ops::linear_combination({with_image, nothing}, {1, -1});
  const Tensor by_prompt = ops::linear_combination({prompt, with_image}, {1, -1});
  return ops::linear_combination({nothing, by_prompt, by_image}, {1, float(prompt_scale), float(image_scale)});
}

Tensor away_from(const Tensor& guided, const Tensor& prompt, const Tensor& perturbed, double scale) {
  return ops::linear_combination({guided, ops::linear_combination({prompt, perturbed}, {1, -1})}, {1, float(scale)});
}

double growing_scale(double scale, double done) { return 1 + scale * (1 - std::cos(std::numbers::pi * std::pow(done, 5))) / 2; }

Tensor dynamically_thresholded(const Tensor& x0, double ratio, double most) {
  const int64_t images = x0.size(0);
  const size_t count = size_t(x0.numel() / images);
  const auto each_image = [=](float* y, const float* values) {
    std::vector<float> sizes(count);
    for (int64_t k = 0; k < images; ++k, values += count, y += count) {
      std::transform(values, values + count, sizes.begin(), [](float v) { return std::abs(v); });
      const double rank = ratio * double(count - 1), below = std::floor(rank);
      const auto low = sizes.begin() + std::ptrdiff_t(below);
      std::nth_element(sizes.begin(), low, sizes.end());
      const double at = *low, above = low + 1 == sizes.end() ? at : *std::min_element(low + 1, sizes.end());
      const float s = float(std::clamp(at + (rank - below) * (above - at), 1.0, most));
      for (size_t i = 0; i < count; ++i) y[i] = std::clamp(values[i], -s, s) / s;
    }
  };
  return on_host(x0.shape(), each_image, x0);
}

}  // namespace hearth::sampling
