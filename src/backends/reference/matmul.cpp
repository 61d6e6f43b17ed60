#include <algorithm>
#include <vector>

#include "backends/reference/reference_class.h"
#include "core/factors.h"

namespace hearth::reference {

double activated(double x, Activation act) {
  switch (act) {
    case Activation::none: return x;
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::gelu: return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
    case Activation::gelu_tanh: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::quick_gelu: return x / (1 + std::exp(-1.702 * x));
    case Activation::relu: return x > 0 || std::isnan(x) ? x : 0;
    case Activation::sigmoid: return 1 / (1 + std::exp(-x));
    case Activation::tanh: return std::tanh(x);
    case Activation::softplus: return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case Activation::squared_relu: return x > 0 || std::isnan(x) ? x * x : 0;
  }
  return x;
}

std::shared_ptr<const PreparedWeight> ReferenceBackend::prepare(const Tensor& w, WeightKind, const WeightForm& form) {
  auto raw = std::make_shared<Raw>();
  raw->values = w.to_vector();
  for (float& v : raw->values) {
    if (form.hold == DType::f16) v = f16_to_f32(f32_to_f16(v));
    if (form.hold == DType::bf16) v = bf16_to_f32(f32_to_bf16(v));
  }
  if (form.factors == DType::bf16 && form.hold != DType::bf16)
    for (const float v : raw->values) raw->rounded.push_back(bf16_to_f32(f32_to_bf16(v)));
  raw->bytes = raw->values.size() * sizeof(float);
  return raw;
}

double ReferenceBackend::shifted(double acc, int64_t row, int64_t b, int64_t n, int64_t N, const Tensor& bias, const Epilogue& e) const {
  double value = double(e.alpha) * acc;
  if (bias) value += at(bias, n);
  if (e.per_image) value += at(e.per_image, b * N + n);
  if (e.addend) value += at(e.addend, row * N + n);
  return value;
}

void ReferenceBackend::store(Tensor& y, int64_t i, double value, int64_t b, int64_t n, int64_t N, const Epilogue& e) const {
  if (e.gate) value *= at(e.gate, b * N + n);
  if (e.residual) value += at(e.residual, i);
  put(y, i, value);
}

// In blocks of 32 along the last axis: q · d with d = the largest magnitude / 32767. A block that contains NaN or infinity becomes NaN.
Tensor ReferenceBackend::as_integers(const Tensor& input) {
  Tensor x = input;
  if (input.dtype() != DType::f32) {
    x = Tensor::empty(*this, input.shape(), DType::f32);
    copy(input, x);
  }
  Tensor rounded = Tensor::empty(*this, x.shape(), DType::f32);
  const float* from = x.data<float>();
  float* to = rounded.data<float>();
  pool_.run(x.numel() / 32, [&](int64_t block) {
    float largest = 0;
    bool finite = true;
    for (int64_t i = block * 32; i < (block + 1) * 32; ++i) {
      finite = finite && std::isfinite(from[i]);
      largest = std::max(largest, std::abs(from[i]));
    }
    const bool counts = finite && largest >= 0x1p-100f;
    const float inverse = counts ? 32767.0f / largest : 0, d = finite ? (counts ? largest / 32767.0f : 0) : NAN;
    for (int64_t i = block * 32; i < (block + 1) * 32; ++i) to[i] = (counts ? std::nearbyint(from[i] * inverse) : 0) * d;
  });
  return rounded;
}

Tensor ReferenceBackend::as_factors(const Tensor& x, DType factors) {
  if (factors == DType::f32) return x;
  if (factors == DType::i16) return as_integers(x);
  Tensor rounded = Tensor::empty(*this, x.shape(), factors);
  copy(x, rounded);
  return rounded;
}

void ReferenceBackend::linear(const Tensor& input, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm,
                              Tensor& y) {
  if (norm) return linear(normalized(input, norm), w, bias, e, {}, y);
  const DType factors = factors_of(w.form, input.size(0) * input.size(1));
  const Tensor x = as_factors(input, factors);
  const int64_t M = x.size(1), K = x.size(2), N = w.out(), outputs = w.outputs();
  const Raw& raw = static_cast<const Raw&>(*w.prepared);
  const auto scale = [&](int64_t n) { return !w.scale ? 1.0 : double(at(w.scale, w.scale.numel() == 1 ? 0 : n)); };
  const float* values = (factors == DType::bf16 && !raw.rounded.empty() ? raw.rounded : raw.values).data();
  pool_.run(x.size(0) * M, [&](int64_t row) {
    std::vector<double> factors_of_row(K), columns(N);
    for (int64_t k = 0; k < K; ++k) factors_of_row[k] = at(x, row * K + k);
    // Several columns at once: each is summed in the same order, and the sums are independent.
    for (int64_t n = 0; n < N; n += side_by_side) {
      const int64_t count = std::min(side_by_side, N - n);
      const float* rows[side_by_side];
      for (int64_t j = 0; j < side_by_side; ++j) rows[j] = values + (n + std::min(j, count - 1)) * K;
      double sums[side_by_side] = {};
      for (int64_t k = 0; k < K; ++k)
        for (int64_t j = 0; j < side_by_side; ++j) sums[j] += factors_of_row[k] * rows[j][k];
      for (int64_t j = 0; j < count; ++j) columns[n + j] = shifted(sums[j] * scale(n + j), row, row / M, n + j, N, bias, e);
    }
    for (int64_t n = 0; n < outputs; ++n) {
      const double value =
          w.kind == WeightKind::glu ? columns[n] * activated(columns[outputs + n], e.activation) : activated(columns[n], e.activation);
      store(y, row * outputs + n, value, row / M, n, outputs, e);
    }
  });
}

}  // namespace hearth::reference
