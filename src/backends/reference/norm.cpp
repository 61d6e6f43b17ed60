#include "backends/reference/reference_class.h"

namespace hearth::reference {
namespace {

// Mean and biased variance of f(0 … n-1), in two passes.
template <class F> std::pair<double, double> moments(int64_t n, F f) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < n; ++i) mean += f(i);
  mean /= double(n);
  for (int64_t i = 0; i < n; ++i) variance += (f(i) - mean) * (f(i) - mean);
  return {mean, variance / double(n)};
}

// (x̂·gamma + beta)·(1 + scale) + shift of column c in row r, which belongs to image b.
double modulated(double x, const Tensor& gamma, const Tensor& beta, const Tensor& scale, const Tensor& shift, int64_t images, int64_t b,
                 int64_t r, int64_t c) {
  const auto of = [&](const Tensor& t) { return at(t, (t.size(0) == images ? b : r) * t.stride(0) + c); };
  if (gamma) x *= at(gamma, c);
  if (beta) x += at(beta, c);
  if (scale) x *= 1 + of(scale);
  if (shift) x += of(shift);
  return x;
}

}  // namespace

void ReferenceBackend::group_norm(const Tensor& x, const GroupNormSpec& spec, Tensor& y) {
  const int64_t B = x.size(0), P = x.size(1), C = x.size(2), width = C / spec.groups;
  pool_.run(B * spec.groups, [&](int64_t index) {
    const int64_t b = index / spec.groups, first = index % spec.groups * width;
    const auto position = [&](int64_t i) { return (b * P + i / width) * C + first + i % width; };
    const auto [mean, variance] = moments(P * width, [&](int64_t i) { return at(x, position(i)); });
    for (int64_t i = 0; i < P * width; ++i) {
      const double normal = (at(x, position(i)) - mean) / std::sqrt(variance + double(spec.eps));
      put(y, position(i),
          activated(modulated(normal, spec.gamma, spec.beta, spec.scale, spec.shift, B, b, b, first + i % width), spec.activation));
    }
  });
}

Tensor ReferenceBackend::normalized(const Tensor& x, const GroupNormSpec& norm) {
  const Shape flat{x.size(0), x.numel() / (x.size(0) * x.size(-1)), x.size(-1)};
  Tensor y = Tensor::empty(*this, flat, DType::f32);
  group_norm(x.view(flat), norm, y);
  return y.view(x.shape());
}

void ReferenceBackend::layer_norm(const Tensor& x, const NormSpec& spec, Tensor& y) {
  const int64_t B = x.size(0), M = x.size(1), C = x.size(2);
  pool_.run(B * M, [&](int64_t r) {
    const auto [mean, variance] = moments(C, [&](int64_t c) { return at(x, r * C + c); });
    for (int64_t c = 0; c < C; ++c)
      put(y, r * C + c,
          modulated((at(x, r * C + c) - mean) / std::sqrt(variance + double(spec.eps)), spec.gamma, spec.beta, spec.scale, spec.shift, B,
                    r / M, r, c));
  });
}

void ReferenceBackend::rms_norm(const Tensor& x, const NormSpec& spec, Tensor& y) {
  const int64_t B = x.size(0), M = x.size(1), C = x.size(2);
  pool_.run(B * M, [&](int64_t r) {
    double squares = 0;
    for (int64_t c = 0; c < C; ++c) squares += at(x, r * C + c) * at(x, r * C + c);
    const double root = std::sqrt(squares / double(C) + double(spec.eps));
    for (int64_t c = 0; c < C; ++c)
      put(y, r * C + c, modulated(at(x, r * C + c) / root, spec.gamma, {}, spec.scale, spec.shift, B, r / M, r, c));
  });
}

}  // namespace hearth::reference
